package compare

import "time"

const ms = time.Millisecond

// queue is a queue of Cloud Tasks: nothing before its schedule time, a token bucket, so many dispatches at once, and of what may go
// the task first that was ready first. A test holds it to the engine of the emulator, through which Seriatim runs: this one
// leaves out all that costs time there and decides nothing here, names, headers and retries.
type queue struct {
	*world
	interval   time.Duration // in which one token grows
	burst      int
	concurrent int
	jitter     [2]time.Duration // of a dispatch
	network    [2]time.Duration // from the queue to a function, and back
	late       float64

	full    time.Duration // when the bucket is full again
	running int
	waiting []*process
}

// newQueue is a queue with the defaults of Cloud Tasks.
func (w *world) newQueue(late bool) *queue {
	q := &queue{
		world: w, interval: time.Second / 500, burst: 100, concurrent: 1000,
		jitter: [2]time.Duration{20 * ms, 200 * ms}, network: [2]time.Duration{ms, 5 * ms},
	}
	if late {
		q.late = lateShare
	}
	return q
}

// create is CreateTask, called by p: handler runs once the task is dispatched.
func (q *queue) create(p *process, at time.Duration, handler func(*process)) {
	p.pass(5*ms, 20*ms)
	q.costs.Operations++
	q.add(at, handler)
	p.pass(5*ms, 20*ms)
}

func (q *queue) add(at time.Duration, handler func(*process)) {
	ready := max(at, q.now) + q.span(q.jitter[0], q.jitter[1])
	if q.late > 0 && q.rand.Float64() < q.late {
		ready += q.span(lateBy[0], lateBy[1])
	}
	q.at(ready, func(p *process) {
		q.enter(p)
		q.costs.Operations++
		q.costs.Dispatches++
		p.pass(q.network[0], q.network[1])
		handler(p)
		p.pass(q.network[0], q.network[1])
		q.leave()
	})
}

// enter waits for a place among the concurrent dispatches, and then for a token.
func (q *queue) enter(p *process) {
	if q.running == q.concurrent {
		q.waiting = append(q.waiting, p)
		p.park()
	} else {
		q.running++
	}
	start := max(q.now, q.full-time.Duration(q.burst-1)*q.interval)
	q.full = max(q.full, start) + q.interval
	p.sleep(start - q.now)
}

// leave gives the place to the next.
func (q *queue) leave() {
	if len(q.waiting) == 0 {
		q.running--
		return
	}
	q.plan(q.waiting[0], q.now)
	q.waiting = q.waiting[1:]
}
