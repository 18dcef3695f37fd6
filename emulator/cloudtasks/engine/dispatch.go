package engine

import "time"

// schedule puts a task that has no attempt in flight into its queue.
func (e *Engine) schedule(t *task, due time.Time) {
	t.due = due.Truncate(time.Microsecond)
	t.ready = t.due.Add(e.lateness(t.name, t.dispatches))
	t.queue.waiting.add(t)
}

// forget deletes a task; its name stays taken.
func (e *Engine) forget(t *task, now time.Time) {
	t.queue.forget(t, now.Add(e.options.NameReuse))
}

// dispatch starts the attempt that is due in q.
func (e *Engine) dispatch(q *queue, now time.Time) *Attempt {
	t := q.waiting.remove(e.pick(q, now))
	q.bucket.spend(now)
	a := e.start(t, now, t.due)
	if !t.duplicate {
		e.injectAfter(t, now)
	}
	return a
}

// pick is the place in the heap of the task to start: the first, or with the
// fault "reorder" any that is due.
func (e *Engine) pick(q *queue, now time.Time) int {
	if e.faults.Reorder == 0 {
		return 0
	}
	e.draws["reorder"]++
	r := e.dice("reorder", q.name, e.draws["reorder"])
	chosen := r.IntN(len(q.waiting.items))
	if r.Float64() >= e.faults.Reorder || q.waiting.items[chosen].ready.After(now) {
		return 0
	}
	return chosen
}

// injectAfter draws the faults that follow a dispatch.
func (e *Engine) injectAfter(t *task, now time.Time) {
	if len(e.faults.Duplicate) > 0 {
		if delay, struck := sum(e.faults.Duplicate, e.dice("duplicate", t.name, int64(t.dispatches))); struck {
			e.duplicate(t, now.Add(delay))
		}
	}
	if len(e.faults.Freeze) > 0 {
		if pause, struck := sum(e.faults.Freeze, e.dice("freeze", t.name, int64(t.dispatches))); struck {
			t.queue.thawed = later(t.queue.thawed, now.Add(pause))
		}
	}
}

// duplicate lets the attempt that t has just begun happen once more at at,
// within the queue's limits and with the same headers.
func (e *Engine) duplicate(t *task, at time.Time) {
	again := *t
	again.duplicate, again.dispatches, again.ready, again.running = true, t.dispatches-1, at, 0
	t.queue.waiting.add(&again)
}

// start begins an attempt of t, which is in no heap. scheduled is the instant
// for which it was meant.
func (e *Engine) start(t *task, now, scheduled time.Time) *Attempt {
	a := &Attempt{
		Task: t.name, Request: t.request(e.options.AppEngineURL),
		Started: now, Deadline: now.Add(t.deadline),
		task: t, scheduled: scheduled,
	}
	t.begin(scheduled, now)
	t.queue.running++
	e.running.add(a)
	e.stats.Dispatches++
	if t.duplicate {
		e.stats.Duplicates++
	}
	return a
}

// end settles an attempt that is in flight.
func (e *Engine) end(a *Attempt, o outcome, now time.Time) {
	t := a.task
	a.ended = true
	e.running.remove(a.index)
	t.queue.running--
	t.end(a, o, now)
	if o.ok() {
		e.stats.Succeeded++
	} else {
		e.stats.Failed++
	}
	if t.duplicate {
		return
	}
	t.queue.observe(now, !o.ok(), o.overload(t.message.GetAppEngineHttpRequest() != nil), o.retryAfter)
	if t.gone {
		return
	}
	if o.ok() {
		e.stats.Completed++
		e.forget(t, now)
		return
	}
	e.retry(t, a, o, now)
}

// retry schedules the next attempt after a failure, or gives the task up. With
// other attempts in flight the last one to end decides.
func (e *Engine) retry(t *task, a *Attempt, o outcome, now time.Time) {
	if t.running > 0 {
		return
	}
	policy := t.policy()
	if policy.spent(t.dispatches, t.first, now) {
		e.stats.GivenUp++
		e.forget(t, now)
		return
	}
	base := now
	if a.forced {
		base = a.Started
	}
	due := base.Add(policy.interval(t.dispatches))
	e.schedule(t, later(later(due, now.Add(o.retryAfter)), now))
}
