package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrNotFound says that the queue has no such task, or there is no such queue. A queue
// long idle may say so for minutes though its tasks exist: it proves a task
// missing only beside a State of Running or Paused.
var ErrNotFound = errors.New("not found")

// Get reads the task id and opens its envelope. Errors: ErrNotFound; ErrMAC,
// ErrVersion and ErrMalformed as [Keys.Open] says, ErrMAC also for a task that
// is not ours; else the API's. The client library retries what is out of reach,
// within ctx or 20 s. The caller needs the permission cloudtasks.tasks.fullView.
func (c *Client) Get(ctx context.Context, id string) (Envelope, error) {
	task, err := c.service.GetTask(ctx, &cloudtaskspb.GetTaskRequest{
		Name:         c.config.taskName(id),
		ResponseView: cloudtaskspb.Task_FULL,
	})
	if err != nil {
		return Envelope{}, fmt.Errorf("get task %s: %w", id, notFound(err))
	}
	r := task.GetHttpRequest()
	e, err := c.config.Keys.Open(r.GetBody(), macOf(r.GetHeaders()))
	if err != nil {
		return Envelope{}, fmt.Errorf("get task %s: %w", id, err)
	}
	return e, nil
}

// macOf does not rely on the case in which the queue hands a header back.
func macOf(headers map[string]string) string {
	for name, value := range headers {
		if strings.EqualFold(name, MACHeader) {
			return value
		}
	}
	return ""
}

// QueueState says what a queue does with its tasks.
type QueueState string

// The states of a queue.
const (
	Running  QueueState = "running"
	Paused   QueueState = "paused"   // takes tasks, dispatches none
	Disabled QueueState = "disabled" // by Google: an App Engine file says so, or billing ended
)

// State asks for the queue's state over the connection that Get uses. Errors:
// ErrNotFound when there is no such queue; else the API's. The client library
// retries as for Get.
func (c *Client) State(ctx context.Context) (QueueState, error) {
	q, err := c.service.GetQueue(ctx, &cloudtaskspb.GetQueueRequest{Name: c.config.Queue})
	if err != nil {
		return "", fmt.Errorf("get queue %s: %w", c.config.Queue, notFound(err))
	}
	switch q.GetState() {
	case cloudtaskspb.Queue_RUNNING:
		return Running, nil
	case cloudtaskspb.Queue_PAUSED:
		return Paused, nil
	case cloudtaskspb.Queue_DISABLED:
		return Disabled, nil
	}
	return "", fmt.Errorf("get queue %s: unknown state %v", c.config.Queue, q.GetState())
}

func notFound(err error) error {
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}
