package engine

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Texts as recorded against the real service (FACTS.md, section 1).
var (
	errQueueMissing   = status.Error(codes.NotFound, "Queue does not exist. If you just created the queue, wait at least a minute for the queue to initialize.")
	errQueueExists    = status.Error(codes.AlreadyExists, "Queue already exists")
	errQueueTooRecent = status.Error(codes.FailedPrecondition, "The queue cannot be created because a queue with this name existed too recently.")
	errNotFound       = status.Error(codes.NotFound, "Requested entity was not found.")
	errTaskGone       = status.Error(codes.NotFound, "The task no longer exists, though a task with this name existed recently. The task either successfully completed or was deleted.")
	errTaskExists     = status.Error(codes.AlreadyExists, "Requested entity already exists")
)

// invalid is an INVALID_ARGUMENT error.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// invalidName is an INVALID_ARGUMENT error that links to the definition of the
// name, as the service does.
func invalidName(text, described, field string) error {
	help := &errdetails.Help{Links: []*errdetails.Help_Link{{
		Description: "Definition of " + described,
		Url:         "https://cloud.google.com/tasks/docs/reference/rest/v2/" + field,
	}}}
	detailed, err := status.New(codes.InvalidArgument, text).WithDetails(help)
	if err != nil {
		return invalid("%s", text)
	}
	return detailed.Err()
}

// injected is the error of a fault that the emulator was asked for.
func injected(code codes.Code, fault string) error {
	return status.Errorf(code, "injected by the emulator's fault %q", fault)
}
