package engine

import (
	"strconv"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxTaskPage is the largest page of ListTasks.
const maxTaskPage = 1000

// CreateTask stores a task. It keeps and changes parts of r, which the caller
// gives away. Errors: INVALID_ARGUMENT; NOT_FOUND without the queue;
// ALREADY_EXISTS while the name is taken, be it by a task that is gone.
func (e *Engine) CreateTask(now time.Time, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	now = e.tick(now)
	id, err := e.requestedID(r)
	if err != nil {
		return nil, err
	}
	q, err := e.find(r.GetParent())
	if err != nil {
		return nil, err
	}
	t, err := e.newTask(now, q, r.GetTask())
	if err != nil {
		return nil, err
	}
	if t.id = id; id == "" {
		t.id = e.freeID(q, now)
	}
	t.name = q.name + "/tasks/" + t.id
	if t.size() > maxTask {
		return nil, invalid("Task size too large: the stored task may have at most %d bytes.", maxTask)
	}
	if q.tasks[t.id] != nil || q.graves.blocks(t.id, now) {
		return nil, errTaskExists
	}
	q.tasks[t.id] = t
	t.place = q.byAge.PushBack(t)
	e.schedule(t, t.due)
	e.stats.Created++
	return t.view(r.GetResponseView()), nil
}

// requestedID is the task ID that the request names, "" for none.
func (e *Engine) requestedID(r *cloudtaskspb.CreateTaskRequest) (string, error) {
	if err := e.checkQueueName(r.GetParent()); err != nil {
		return "", err
	}
	if r.GetTask() == nil {
		return "", invalid("Task is required.")
	}
	if r.GetTask().GetName() == "" {
		return "", nil
	}
	queue, id, err := e.splitTaskName(r.GetTask().GetName())
	if err == nil && queue != r.GetParent() {
		err = invalid("The queue name from request ('%s') must be the same as the queue name in the named task ('%s').", r.GetParent(), queue)
	}
	return id, err
}

// newTask is a task without a name, not yet in its queue.
func (e *Engine) newTask(now time.Time, q *queue, from *cloudtaskspb.Task) (*task, error) {
	message, err := e.canonical(q, from)
	if err != nil {
		return nil, err
	}
	due, err := dueOf(from.GetScheduleTime(), now)
	if err != nil {
		return nil, err
	}
	deadline, err := deadlineOf(from)
	if err != nil {
		return nil, err
	}
	e.seq++
	t := &task{queue: q, message: message, deadline: deadline, created: now, due: due, seq: e.seq, index: -1}
	if message.RetryConfig != nil {
		policy := policyOf(message.RetryConfig)
		t.retry = &policy
	}
	return t, nil
}

// dueOf is the schedule time: now where it is not set or past.
func dueOf(set *timestamppb.Timestamp, now time.Time) (time.Time, error) {
	if set == nil {
		return now, nil
	}
	if set.CheckValid() != nil {
		return time.Time{}, invalid("Task.scheduleTime is not a valid timestamp.")
	}
	due := set.AsTime().Truncate(time.Microsecond)
	if due.Sub(now) > horizon {
		return time.Time{}, invalid("The Task.scheduleTime, %s, is too far in the future. Schedule time must be no more than 720h in the future.", due.Format(time.RFC3339Nano))
	}
	return later(due, now), nil
}

// freeID is a random task ID as the service makes them: a large number.
func (e *Engine) freeID(q *queue, now time.Time) string {
	for {
		id := strconv.FormatUint(e.ids.Uint64()|1<<63, 10)
		if q.tasks[id] == nil && !q.graves.blocks(id, now) {
			return id
		}
	}
}

// findTask returns a task. gone is the error for a name that was in use.
func (e *Engine) findTask(now time.Time, name string, gone error) (*task, error) {
	queue, id, err := e.splitTaskName(name)
	if err != nil {
		return nil, err
	}
	q := e.queues[queue]
	if q == nil {
		return nil, errNotFound
	}
	if t := q.tasks[id]; t != nil {
		return t, nil
	}
	if q.graves.blocks(id, now) {
		return nil, gone
	}
	return nil, errNotFound
}

// GetTask returns a task; without FULL view it has no body.
func (e *Engine) GetTask(now time.Time, name string, view cloudtaskspb.Task_View) (*cloudtaskspb.Task, error) {
	t, err := e.findTask(e.tick(now), name, errTaskGone)
	if err != nil {
		return nil, err
	}
	return t.view(view), nil
}

// ListTasks returns the tasks of a queue, oldest first, a page at a time.
func (e *Engine) ListTasks(now time.Time, r *cloudtaskspb.ListTasksRequest) (*cloudtaskspb.ListTasksResponse, error) {
	now = e.tick(now)
	q, err := e.find(r.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := openPage(now, r.GetPageSize(), maxTaskPage, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	after := uint64(0)
	if page.after != "" {
		if after, err = strconv.ParseUint(page.after, 10, 64); err != nil {
			return nil, invalid("Invalid page token.")
		}
	}
	response := &cloudtaskspb.ListTasksResponse{}
	var last uint64
	for place := q.byAge.Front(); place != nil; place = place.Next() {
		t := place.Value.(*task)
		if t.seq <= after {
			continue
		}
		if len(response.Tasks) == page.size {
			response.NextPageToken = nextPage(now, strconv.FormatUint(last, 10))
			break
		}
		response.Tasks, last = append(response.Tasks, t.view(r.GetResponseView())), t.seq
	}
	return response, nil
}

// DeleteTask deletes a task, also while it is dispatched; that attempt goes on.
func (e *Engine) DeleteTask(now time.Time, name string) error {
	now = e.tick(now)
	t, err := e.findTask(now, name, errNotFound)
	if err != nil {
		return err
	}
	e.forget(t, now)
	return nil
}

// DeleteTaskOf is DeleteTask for a task that must be of a certain queue, else
// it is INVALID_ARGUMENT.
func (e *Engine) DeleteTaskOf(now time.Time, queue, name string) error {
	switch named, _, err := e.splitTaskName(name); {
	case err != nil:
		return err
	case named != queue:
		return invalid("The queue name from request ('%s') must be the same as the queue name in the named task ('%s').", queue, named)
	}
	return e.DeleteTask(now, name)
}

// RunTask starts an attempt at the next [Engine.Advance], whatever the queue's
// state, limits and the attempts in flight. The task waits for no other time
// until the attempt ends.
func (e *Engine) RunTask(now time.Time, name string, view cloudtaskspb.Task_View) (*cloudtaskspb.Task, error) {
	now = e.tick(now)
	t, err := e.findTask(now, name, errNotFound)
	if err != nil {
		return nil, err
	}
	if t.index >= 0 {
		t.queue.waiting.remove(t.index)
	}
	a := e.start(t, now, now)
	a.forced = true
	e.forced = append(e.forced, a)
	return t.view(view), nil
}
