package engine

import (
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
)

// maxQueuePage is the largest page of ListQueues.
const maxQueuePage = 9800

// find returns a queue, NOT_FOUND when there is none.
func (e *Engine) find(name string) (*queue, error) {
	if err := e.checkQueueName(name); err != nil {
		return nil, err
	}
	if q := e.queues[name]; q != nil {
		return q, nil
	}
	return nil, errQueueMissing
}

// CreateQueue adds a queue to parent, a location. Output-only fields of config
// are ignored. Errors: INVALID_ARGUMENT, ALREADY_EXISTS, and
// FAILED_PRECONDITION while a deleted queue's name is still taken.
func (e *Engine) CreateQueue(now time.Time, parent string, config *cloudtaskspb.Queue) (*cloudtaskspb.Queue, error) {
	location, err := locationOf(config.GetName())
	if err != nil {
		return nil, err
	}
	if location != parent {
		return nil, invalid("The location from request ('%s') must be the same as the location in the queue name ('%s').", parent, location)
	}
	config = proto.CloneOf(config)
	if config.RateLimits != nil {
		config.RateLimits.MaxBurstSize = 0
	}
	return e.AddQueue(now, config)
}

// AddQueue is CreateQueue for a queue of the emulator's own configuration: its
// max_burst_size is taken too, as queue.yaml's bucket_size is.
func (e *Engine) AddQueue(now time.Time, config *cloudtaskspb.Queue) (*cloudtaskspb.Queue, error) {
	now = e.tick(now)
	if _, err := locationOf(config.GetName()); err != nil {
		return nil, err
	}
	if err := checkQueue(config); err != nil {
		return nil, err
	}
	switch name := config.GetName(); {
	case e.queues[name] != nil:
		return nil, errQueueExists
	case e.graves.blocks(name, now):
		return nil, errQueueTooRecent
	}
	config = proto.CloneOf(config)
	complete(config)
	config.State, config.PurgeTime = cloudtaskspb.Queue_RUNNING, nil
	q := newQueue(config, now)
	e.queues[q.name] = q
	e.order = append(e.order, q)
	return config, nil
}

// GetQueue returns a queue. The answer must not be changed.
func (e *Engine) GetQueue(name string) (*cloudtaskspb.Queue, error) {
	q, err := e.find(name)
	if err != nil {
		return nil, err
	}
	return q.config, nil
}

// ListQueues returns the queues of a location by name, a page at a time.
// Of filters only "state: X" (also with = and !=) is understood.
func (e *Engine) ListQueues(now time.Time, r *cloudtaskspb.ListQueuesRequest) (*cloudtaskspb.ListQueuesResponse, error) {
	now = e.tick(now)
	if err := CheckLocation(r.GetParent()); err != nil {
		return nil, err
	}
	keep, err := stateFilter(r.GetFilter())
	if err != nil {
		return nil, err
	}
	page, err := openPage(now, r.GetPageSize(), maxQueuePage, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	var names []string
	for name, q := range e.queues {
		if strings.HasPrefix(name, r.GetParent()+"/") && name > page.after && keep(q.config.GetState()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	response := &cloudtaskspb.ListQueuesResponse{}
	for i, name := range names {
		if i == page.size {
			response.NextPageToken = nextPage(now, names[i-1])
			break
		}
		response.Queues = append(response.Queues, e.queues[name].config)
	}
	return response, nil
}

// stateFilter understands "", "state: X", "state = X" and "state != X".
func stateFilter(filter string) (func(cloudtaskspb.Queue_State) bool, error) {
	if strings.TrimSpace(filter) == "" {
		return func(cloudtaskspb.Queue_State) bool { return true }, nil
	}
	for _, operator := range []string{"!=", "=", ":"} {
		field, value, ok := strings.Cut(filter, operator)
		if !ok {
			continue
		}
		state, known := cloudtaskspb.Queue_State_value[strings.Trim(strings.TrimSpace(value), `"`)]
		if !known || strings.TrimSpace(field) != "state" {
			break
		}
		return func(s cloudtaskspb.Queue_State) bool {
			return (int32(s) == state) != (operator == "!=")
		}, nil
	}
	return nil, invalid("Invalid filter %q: the emulator understands only state, such as \"state: PAUSED\".", filter)
}

// UpdateQueue changes a queue, or creates it when there is none. It takes
// effect at once, on waiting tasks too.
func (e *Engine) UpdateQueue(now time.Time, update *cloudtaskspb.Queue, paths []string) (*cloudtaskspb.Queue, error) {
	now = e.tick(now)
	location, err := locationOf(update.GetName())
	if err != nil {
		return nil, err
	}
	q := e.queues[update.GetName()]
	if q == nil {
		return e.CreateQueue(now, location, update)
	}
	merged, err := merge(q.config, update, paths)
	if err != nil {
		return nil, err
	}
	q.configure(merged, now)
	return merged, nil
}

// DeleteQueue deletes a queue with all its tasks; its name stays taken for
// [Options.QueueTombstone].
func (e *Engine) DeleteQueue(now time.Time, name string) error {
	now = e.tick(now)
	if err := e.checkQueueName(name); err != nil {
		return err
	}
	q := e.queues[name]
	if q == nil {
		return errNotFound
	}
	e.clear(q, now)
	delete(e.queues, name)
	e.order = slices.DeleteFunc(e.order, func(o *queue) bool { return o == q })
	e.graves.add(name, now.Add(e.options.QueueTombstone))
	return nil
}

// PurgeQueue deletes all tasks of a queue at once. Attempts in flight go on.
func (e *Engine) PurgeQueue(now time.Time, name string) (*cloudtaskspb.Queue, error) {
	now = e.tick(now)
	q, err := e.find(name)
	if err != nil {
		return nil, err
	}
	e.clear(q, now)
	q.change(func(config *cloudtaskspb.Queue) { config.PurgeTime = stamp(now) })
	return q.config, nil
}

// PauseQueue stops dispatches; tasks are still accepted and still expire.
func (e *Engine) PauseQueue(name string) (*cloudtaskspb.Queue, error) {
	return e.setState(name, cloudtaskspb.Queue_PAUSED)
}

// ResumeQueue undoes PauseQueue.
func (e *Engine) ResumeQueue(name string) (*cloudtaskspb.Queue, error) {
	return e.setState(name, cloudtaskspb.Queue_RUNNING)
}

func (e *Engine) setState(name string, state cloudtaskspb.Queue_State) (*cloudtaskspb.Queue, error) {
	q, err := e.find(name)
	if err != nil {
		return nil, err
	}
	q.change(func(config *cloudtaskspb.Queue) { config.State = state })
	return q.config, nil
}

// change replaces the configuration by an edited copy: answers may share the old one.
func (q *queue) change(edit func(*cloudtaskspb.Queue)) {
	config := proto.CloneOf(q.config)
	edit(config)
	q.config = config
}

// clear deletes the tasks of a queue, and duplicates that still wait.
func (e *Engine) clear(q *queue, now time.Time) {
	for q.byAge.Len() > 0 {
		e.forget(q.byAge.Front().Value.(*task), now)
	}
	for len(q.waiting.items) > 0 {
		q.waiting.remove(len(q.waiting.items) - 1)
	}
}
