package taskqueue

import (
	"fmt"
	"regexp"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// Horizon is how far ahead a task is scheduled at most. Cloud Tasks refuses
	// more than 30 days by its own clock; half a day is left for ours.
	Horizon = 29*24*time.Hour + 12*time.Hour
	// MinDispatchDeadline is Cloud Tasks' own bound.
	MinDispatchDeadline = 15 * time.Second
	// MaxDispatchDeadline is Cloud Tasks' own bound.
	MaxDispatchDeadline = 30 * time.Minute
)

// Task is one task to create.
type Task struct {
	// ID is made by [RequestTaskID] or [KickTaskID].
	ID string
	// At is the earliest dispatch. Zero or past: now. Later than Horizon from
	// now: then; an executor that is early snoozes.
	At time.Time
	// DispatchDeadline is how long Cloud Tasks waits for the executor's answer
	// before it delivers again, 15 s to 30 min. Zero: Cloud Tasks' own default,
	// 10 min.
	DispatchDeadline time.Duration
	// Envelope is what the executor gets.
	Envelope Envelope
}

// DispatchDeadline returns how long a dispatch may take: the inline wait, two
// calls of the target and 30 s for the rest, at most 30 min. An executor starts
// no run that does not fit what is left of it.
func DispatchDeadline(inlineWait, targetTimeout time.Duration) time.Duration {
	return min(inlineWait+2*targetTimeout+30*time.Second, MaxDispatchDeadline)
}

var taskIDPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,500}$`)

// CreateRequest returns what is sent to create t, as a pure function of its
// arguments: the same bytes at every retry. Errors: those of [Keys.Seal], an id
// that Cloud Tasks would not take, a deadline out of bounds.
func (c Config) CreateRequest(now time.Time, t Task) (*cloudtaskspb.CreateTaskRequest, error) {
	if !taskIDPattern.MatchString(t.ID) {
		return nil, fmt.Errorf("task id %q: must be 1-500 of A-Z, a-z, 0-9, _ and -", t.ID)
	}
	body, mac, err := c.Keys.Seal(t.Envelope)
	if err != nil {
		return nil, err
	}
	task := &cloudtaskspb.Task{
		Name:        c.taskName(t.ID),
		MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: c.httpRequest(body, mac)},
	}
	if !t.At.IsZero() {
		at := t.At
		if limit := now.Add(Horizon); at.After(limit) {
			at = limit
		}
		task.ScheduleTime = timestamppb.New(at)
	}
	if d := t.DispatchDeadline; d != 0 {
		if d < MinDispatchDeadline || d > MaxDispatchDeadline {
			return nil, fmt.Errorf("dispatch deadline %v: must be %v-%v", d, MinDispatchDeadline, MaxDispatchDeadline)
		}
		task.DispatchDeadline = durationpb.New(d)
	}
	return &cloudtaskspb.CreateTaskRequest{Parent: c.Queue, Task: task}, nil
}

func (c Config) httpRequest(body []byte, mac string) *cloudtaskspb.HttpRequest {
	r := &cloudtaskspb.HttpRequest{
		Url:        c.ExecutorURL,
		HttpMethod: cloudtaskspb.HttpMethod_POST,
		Headers:    map[string]string{"Content-Type": "application/json", MACHeader: mac},
		Body:       body,
	}
	if c.ServiceAccount != "" {
		r.AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{
			ServiceAccountEmail: c.ServiceAccount,
			Audience:            c.Audience,
		}}
	}
	return r
}

func (c Config) taskName(id string) string { return c.Queue + "/tasks/" + id }
