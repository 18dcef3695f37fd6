package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Ends of [Client.Create] that are no success. Exactly one of them is in every
// error, beside the cause, of which [status.Code] tells the gRPC code.
var (
	// ErrAmbiguous: some try may have reached the queue. The task may exist, or
	// come to exist within seconds.
	ErrAmbiguous = errors.New("task may or may not exist")
	// ErrRefused: every try failed for certain. This call created no task.
	ErrRefused = errors.New("task was not created")
)

// Create makes t exist. Created is false, without an error, when a task of that
// name existed or has existed lately, perhaps by an earlier try of this very
// call: names contain what the task stands for, so that is as good.
//
// A try whose outcome is unknown is repeated under the same name, and so is one
// that the queue refused for lack of quota, with exponential backoff (100 ms
// to 2 s, half of it jitter), within ctx and the budget. The client library
// does neither. Once a try is ambiguous a later refusal does not make the
// outcome certain: the error is ErrAmbiguous, else ErrRefused. NOT_FOUND (the
// queue, which an idle one may say for minutes, or the service account) is
// certain and not repeated.
func (c *Client) Create(ctx context.Context, t Task) (created bool, err error) {
	start := c.clock.Now()
	req, err := c.config.CreateRequest(start, t)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, fmt.Errorf("create task %s: %w, nothing was sent: %w", t.ID, ErrRefused, err)
	}
	outcome := ErrRefused
	delays := &backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, Multiplier: 2, MaxInterval: 2 * time.Second}
	for tries := 1; ; tries++ {
		err := c.tryCreate(ctx, req, c.budget-c.clock.Now().Sub(start))
		code := status.Code(err)
		switch {
		case code == codes.OK:
			return true, nil
		case code == codes.AlreadyExists:
			return false, nil
		case !refusal(code):
			outcome = ErrAmbiguous
		}
		if refusal(code) && code != codes.ResourceExhausted || !c.pause(ctx, delays.NextBackOff(), start) {
			return false, fmt.Errorf("create task %s: %w, %v at try %d: %w", t.ID, outcome, code, tries, err)
		}
	}
}

func (c *Client) tryCreate(ctx context.Context, req *cloudtaskspb.CreateTaskRequest, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(c.try, left))
	defer cancel()
	_, err := c.service.CreateTask(ctx, req)
	return err
}

// pause sleeps before the next try; false: there will be none.
func (c *Client) pause(ctx context.Context, d time.Duration, start time.Time) bool {
	d -= time.Duration(c.random() * float64(d/2))
	if c.clock.Now().Add(d).Sub(start) >= c.budget {
		return false
	}
	return c.clock.Sleep(ctx, d) == nil
}

// refusal reports whether code means that the queue certainly did not take the
// task. Unavailable is none: gRPC says it for a server never reached and for an
// answer lost on its way.
func refusal(code codes.Code) bool {
	switch code {
	case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.ResourceExhausted:
		return true
	}
	return false
}
