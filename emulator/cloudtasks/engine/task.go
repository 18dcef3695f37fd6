package engine

import (
	"container/list"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// task is one stored task. Its messages are never changed after creation, so
// answers and attempts may share them.
type task struct {
	queue    *queue
	name     string // full
	id       string
	message  *cloudtaskspb.Task // only message_type and retry_config are read from it
	retry    *retryPolicy       // nil: the queue's
	deadline time.Duration      // of one attempt
	created  time.Time
	due      time.Time // schedule_time
	ready    time.Time // due plus the lateness that faults add
	seq      uint64    // order of creation

	index     int           // in the queue's waiting heap, -1 while not there
	place     *list.Element // in the queue's byAge list
	running   int           // attempts in flight
	gone      bool          // deleted while attempts were in flight
	duplicate bool          // a second delivery, not a task of its own

	dispatches int32     // attempts started
	responses  int32     // attempts answered
	counted    int32     // attempts answered other than 5xx: what X-CloudTasks-TaskExecutionCount says
	first      time.Time // start of the first attempt
	last       *cloudtaskspb.Attempt
	previous   int // HTTP status of the last attempt that ended, 0 for none
}

func (t *task) before(o *task) bool {
	if t.ready.Equal(o.ready) {
		return t.seq < o.seq
	}
	return t.ready.Before(o.ready)
}

// policy is the task's own retry policy, else the queue's present one.
func (t *task) policy() retryPolicy {
	if t.retry != nil {
		return *t.retry
	}
	return t.queue.retry
}

// view is the task as the API shows it. BASIC leaves out the body.
func (t *task) view(view cloudtaskspb.Task_View) *cloudtaskspb.Task {
	if view != cloudtaskspb.Task_FULL {
		view = cloudtaskspb.Task_BASIC
	}
	shown := &cloudtaskspb.Task{
		Name:             t.name,
		MessageType:      t.message.GetMessageType(),
		ScheduleTime:     stamp(t.due),
		CreateTime:       stamp(t.created.Truncate(time.Second)),
		DispatchDeadline: durationpb.New(t.deadline),
		DispatchCount:    t.dispatches,
		ResponseCount:    t.responses,
		LastAttempt:      t.last,
		View:             view,
		RetryConfig:      t.message.GetRetryConfig(),
	}
	if !t.first.IsZero() {
		shown.FirstAttempt = &cloudtaskspb.Attempt{DispatchTime: stamp(t.first)}
	}
	if view == cloudtaskspb.Task_BASIC {
		withoutBody(shown)
	}
	return shown
}

// size is that of the stored message, in bytes; the view is not stored.
func (t *task) size() int {
	stored := t.view(cloudtaskspb.Task_FULL)
	stored.View = cloudtaskspb.Task_VIEW_UNSPECIFIED
	return proto.Size(stored)
}

// withoutBody replaces the request of t by one without its body.
func withoutBody(t *cloudtaskspb.Task) {
	if r := t.GetHttpRequest(); len(r.GetBody()) > 0 {
		t.MessageType = &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{
			Url: r.Url, HttpMethod: r.HttpMethod, Headers: r.Headers, AuthorizationHeader: r.AuthorizationHeader,
		}}
	}
	if r := t.GetAppEngineHttpRequest(); len(r.GetBody()) > 0 {
		t.MessageType = &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{
			HttpMethod: r.HttpMethod, AppEngineRouting: r.AppEngineRouting, RelativeUri: r.RelativeUri, Headers: r.Headers,
		}}
	}
}

// begin notes the start of an attempt. last is replaced, never changed: an
// answer may share the old one.
func (t *task) begin(scheduled, now time.Time) {
	t.running++
	t.dispatches++
	if t.first.IsZero() {
		t.first = now
	}
	t.last = &cloudtaskspb.Attempt{ScheduleTime: stamp(scheduled), DispatchTime: stamp(now)}
}

// end notes the end of an attempt.
func (t *task) end(a *Attempt, o outcome, now time.Time) {
	t.running--
	t.previous = o.status
	if o.answered {
		t.responses++
		if o.status < 500 {
			t.counted++
		}
	}
	t.last = &cloudtaskspb.Attempt{
		ScheduleTime:   stamp(a.scheduled),
		DispatchTime:   stamp(a.Started),
		ResponseTime:   stamp(now),
		ResponseStatus: o.rpc(),
	}
}

// stamp is an instant as the API shows it, to the microsecond.
func stamp(at time.Time) *timestamppb.Timestamp {
	return timestamppb.New(at.Truncate(time.Microsecond))
}
