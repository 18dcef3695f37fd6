package cloudtasks

import (
	"context"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const (
	maxBatchCreate = 100
	maxBatchDelete = 1000
)

// BatchCreateTasks creates each task by itself; those that fail are in the
// operation's metadata.
func (s *service) BatchCreateTasks(_ context.Context, r *cloudtaskspb.BatchCreateTasksRequest) (*longrunningpb.Operation, error) {
	if err := checkBatch(len(r.GetRequests()), maxBatchCreate); err != nil {
		return nil, err
	}
	for i, one := range r.GetRequests() {
		if one.GetParent() != r.GetParent() {
			return nil, status.Errorf(codes.InvalidArgument, "The parent of requests[%d] ('%s') must be the same as the parent of the batch ('%s').", i, one.GetParent(), r.GetParent())
		}
	}
	return s.batch(r.GetParent(), "BatchCreateTasks", r.GetRequestId(), func(e *engine.Engine, now time.Time) (*longrunningpb.Operation, error) {
		response := &cloudtaskspb.BatchCreateTasksResponse{}
		failed := map[int32]*rpcstatus.Status{}
		for i, one := range r.GetRequests() {
			task, err := e.CreateTask(now, one)
			if err != nil {
				failed[int32(i)] = status.Convert(err).Proto()
				continue
			}
			response.Tasks = append(response.Tasks, task)
		}
		state := cloudtaskspb.BatchCreateTasksMetadata_SUCCEEDED
		if len(failed) > 0 {
			state = cloudtaskspb.BatchCreateTasksMetadata_PARTIALLY_SUCCEEDED
		}
		at := timestamppb.New(now)
		return finished(&cloudtaskspb.BatchCreateTasksMetadata{StartTime: at, EndTime: at, State: state, FailedRequests: failed},
			response, len(failed) == len(r.GetRequests()), "BatchCreateTasksMetadata")
	})
}

// BatchDeleteTasks deletes each task by itself; those that fail are in the
// operation's metadata.
func (s *service) BatchDeleteTasks(_ context.Context, r *cloudtaskspb.BatchDeleteTasksRequest) (*longrunningpb.Operation, error) {
	if err := checkBatch(len(r.GetNames()), maxBatchDelete); err != nil {
		return nil, err
	}
	return s.batch(r.GetParent(), "BatchDeleteTasks", r.GetRequestId(), func(e *engine.Engine, now time.Time) (*longrunningpb.Operation, error) {
		failed := map[int32]*rpcstatus.Status{}
		for i, name := range r.GetNames() {
			if err := e.DeleteTaskOf(now, r.GetParent(), name); err != nil {
				failed[int32(i)] = status.Convert(err).Proto()
			}
		}
		state := cloudtaskspb.BatchDeleteTasksMetadata_SUCCEEDED
		if len(failed) > 0 {
			state = cloudtaskspb.BatchDeleteTasksMetadata_PARTIALLY_SUCCEEDED
		}
		at := timestamppb.New(now)
		return finished(&cloudtaskspb.BatchDeleteTasksMetadata{StartTime: at, EndTime: at, State: state, FailedRequests: failed},
			&emptypb.Empty{}, len(failed) == len(r.GetNames()), "BatchDeleteTasksMetadata")
	})
}

func checkBatch(size, largest int) error {
	if size == 0 || size > largest {
		return status.Errorf(codes.InvalidArgument, "A batch must have between 1 and %d requests, this one has %d.", largest, size)
	}
	return nil
}

// batch performs f once per request ID, on a queue that must exist.
func (s *service) batch(parent, method, requestID string, f func(*engine.Engine, time.Time) (*longrunningpb.Operation, error)) (*longrunningpb.Operation, error) {
	return s.operations.once(parent, method, requestID, func() (*longrunningpb.Operation, error) {
		return call(s.runner, func(e *engine.Engine, now time.Time) (*longrunningpb.Operation, error) {
			if _, err := e.GetQueue(parent); err != nil {
				return nil, err
			}
			return f(e, now)
		})
	})
}

// finished is the operation of a batch; with no success at all it is an error.
func finished(metadata, response proto.Message, allFailed bool, metadataName string) (*longrunningpb.Operation, error) {
	packed, err := anypb.New(metadata)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "pack the operation's metadata: %v", err)
	}
	if allFailed {
		return &longrunningpb.Operation{Metadata: packed, Result: &longrunningpb.Operation_Error{Error: &rpcstatus.Status{
			Code:    int32(codes.Aborted),
			Message: "None of the requests succeeded, refer to " + metadataName + ".failed_requests for individual error details",
		}}}, nil
	}
	result, err := anypb.New(response)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "pack the operation's response: %v", err)
	}
	return &longrunningpb.Operation{Metadata: packed, Result: &longrunningpb.Operation_Response{Response: result}}, nil
}
