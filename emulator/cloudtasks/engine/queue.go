package engine

import (
	"container/list"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/iam/apiv1/iampb"
)

// queue is one queue with its tasks.
type queue struct {
	name    string
	config  *cloudtaskspb.Queue // as returned by GetQueue, defaults filled in; replaced, never changed
	policy  *iampb.Policy
	retry   retryPolicy
	bucket  bucket
	slow    throttle
	thawed  time.Time // a frozen queue starts nothing before
	running int32     // attempts in flight

	tasks   map[string]*task // by task ID
	byAge   *list.List       // the same, oldest first
	waiting indexed[*task]   // those without an attempt in flight, by the instant they may start
	graves  tombstones
}

func newQueue(config *cloudtaskspb.Queue, now time.Time) *queue {
	q := &queue{
		name:  config.GetName(),
		tasks: map[string]*task{},
		byAge: list.New(),
		waiting: indexed[*task]{
			before: (*task).before,
			place:  func(t *task, index int) { t.index = index },
		},
		bucket: bucket{full: now},
	}
	q.configure(config, now)
	return q
}

// configure takes effect at once, on what waits too.
func (q *queue) configure(config *cloudtaskspb.Queue, now time.Time) {
	q.config = config
	q.retry = policyOf(config.GetRetryConfig())
	q.resize(now)
}

// resize sets the bucket to the configured rate, lowered by the throttle.
func (q *queue) resize(now time.Time) {
	limits := q.config.GetRateLimits()
	q.bucket.set(now, tokenInterval(limits.GetMaxDispatchesPerSecond())<<q.slow.shift, int64(limits.GetMaxBurstSize()))
}

// next is the instant from which the queue can start an attempt.
func (q *queue) next() (time.Time, bool) {
	head, ok := q.waiting.first()
	if !ok || q.config.GetState() != cloudtaskspb.Queue_RUNNING || q.running >= q.config.GetRateLimits().GetMaxConcurrentDispatches() {
		return time.Time{}, false
	}
	return later(later(head.ready, q.bucket.next()), q.thawed), true
}

// recover lets the queue grow faster again when it is time.
func (q *queue) recover(now time.Time) {
	if q.slow.recover(now) {
		q.resize(now)
	}
}

// observe lets an answer slow the queue down.
func (q *queue) observe(now time.Time, failed, overload bool, retryAfter time.Duration) {
	q.recover(now)
	if q.slow.observe(now, failed, overload, retryAfter) {
		q.resize(now)
	}
}

// forget takes a task out of the queue and keeps its name blocked.
func (q *queue) forget(t *task, until time.Time) {
	delete(q.tasks, t.id)
	q.byAge.Remove(t.place)
	if t.index >= 0 {
		q.waiting.remove(t.index)
	}
	t.gone = true
	q.graves.add(t.id, until)
}
