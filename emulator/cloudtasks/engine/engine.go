package engine

import (
	"math/rand/v2"
	"time"
)

const (
	// retention is how long a task lives, dispatched or not.
	retention = 31 * 24 * time.Hour

	defaultNameReuse      = 24 * time.Hour
	defaultQueueTombstone = 7 * 24 * time.Hour
)

// Options tune an [Engine]; the zero value behaves like the service.
type Options struct {
	// Seed decides faults and generated task IDs.
	Seed uint64
	// Faults can be changed later with [Engine.SetFaults].
	Faults Faults
	// NameReuse is how long the name of a task that is gone stays taken.
	// Defaults to 24 h.
	NameReuse time.Duration
	// QueueTombstone is how long the name of a deleted queue stays taken.
	// Defaults to 7 days.
	QueueTombstone time.Duration
	// AppEngineURL is the base URL to which App Engine tasks go. While it is
	// empty they are refused.
	AppEngineURL string
}

// Stats counts what an engine did since it was made.
type Stats struct {
	Created    int64 // tasks
	Waiting    int64 // tasks now stored without an attempt in flight
	InFlight   int64 // attempts now in flight
	Dispatches int64 // attempts started, duplicates included
	Duplicates int64 // of them, by the fault
	Succeeded  int64 // attempts answered 200-299
	Failed     int64 // attempts that ended otherwise
	Completed  int64 // tasks deleted because an attempt succeeded
	GivenUp    int64 // tasks deleted because attempts and duration were spent
	Expired    int64 // tasks deleted because they were 31 days old
}

// Engine is the state of one Cloud Tasks service. Make it with [New].
type Engine struct {
	options Options
	faults  Faults
	now     time.Time // latest instant that it has seen
	queues  map[string]*queue
	order   []*queue // the same, in order of creation
	graves  tombstones
	running indexed[*Attempt] // by deadline
	forced  []*Attempt        // by RunTask, to be handed out
	seq     uint64
	ids     *rand.Rand
	draws   map[string]int64 // of API faults, by method
	stats   Stats
}

// New makes an engine without queues.
func New(options Options) *Engine {
	if options.NameReuse == 0 {
		options.NameReuse = defaultNameReuse
	}
	if options.QueueTombstone == 0 {
		options.QueueTombstone = defaultQueueTombstone
	}
	return &Engine{
		options: options,
		faults:  options.Faults,
		queues:  map[string]*queue{},
		running: indexed[*Attempt]{
			before: func(a, b *Attempt) bool { return a.Deadline.Before(b.Deadline) },
			place:  func(a *Attempt, index int) { a.index = index },
		},
		ids:   rand.New(rand.NewPCG(options.Seed, 0)),
		draws: map[string]int64{},
	}
}

// Stats returns the counts so far; its cost grows with the tasks that wait.
func (e *Engine) Stats() Stats {
	stats := e.stats
	stats.InFlight = int64(e.running.Len())
	for _, q := range e.order {
		for _, t := range q.waiting.items {
			if !t.duplicate {
				stats.Waiting++
			}
		}
	}
	return stats
}

// Faults returns the faults in force.
func (e *Engine) Faults() Faults { return e.faults }

// SetFaults replaces the faults and thaws every queue. Lateness that waiting
// tasks have drawn stays.
func (e *Engine) SetFaults(f Faults) {
	e.faults = f
	for _, q := range e.order {
		q.thawed = time.Time{}
	}
}

// tick lets time pass up to now; it never goes back.
func (e *Engine) tick(now time.Time) time.Time {
	e.now = later(e.now, now)
	return e.now
}

// Next returns the instant of the next event, false when there is none until
// a call changes the state. It may lie in the past: then Advance is due.
// Its cost grows with the number of queues, not of tasks.
func (e *Engine) Next() (next time.Time, ok bool) {
	consider := func(at time.Time) {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	if len(e.forced) > 0 {
		consider(e.now)
	}
	if a, ok := e.running.first(); ok {
		consider(a.Deadline)
	}
	for _, q := range e.order {
		if at, ok := q.next(); ok {
			consider(at)
		}
		if oldest := q.byAge.Front(); oldest != nil {
			consider(oldest.Value.(*task).created.Add(retention))
		}
		if q.slow.shift > 0 {
			consider(q.slow.until)
		}
	}
	return next, ok
}

// Advance performs all that is due at now, as happening at now: to see every
// event at its own instant, advance to each instant that Next tells.
func (e *Engine) Advance(now time.Time) Step {
	now = e.tick(now)
	step := Step{Start: e.forced}
	e.forced = nil
	for {
		a, ok := e.running.first()
		if !ok || a.Deadline.After(now) {
			break
		}
		e.end(a, timedOut, now)
		step.Cancel = append(step.Cancel, a)
	}
	for _, q := range e.order {
		e.expire(q, now)
		q.graves.sweep(now)
		q.recover(now)
		for at, ok := q.next(); ok && !at.After(now); at, ok = q.next() {
			step.Start = append(step.Start, e.dispatch(q, now))
		}
	}
	e.graves.sweep(now)
	return step
}

// Finish takes the result of an attempt. One that the engine has ended itself,
// or that was given before, counts for nothing.
func (e *Engine) Finish(now time.Time, a *Attempt, r Result) {
	if !a.ended {
		e.end(a, outcomeOf(r), e.tick(now))
	}
}

// expire deletes the tasks of q that are too old.
func (e *Engine) expire(q *queue, now time.Time) {
	for oldest := q.byAge.Front(); oldest != nil; oldest = q.byAge.Front() {
		t := oldest.Value.(*task)
		if t.created.Add(retention).After(now) {
			return
		}
		e.forget(t, now)
		e.stats.Expired++
	}
}
