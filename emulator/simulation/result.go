package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// RedisCommands and QueueCalls are what [Result].Calls counts beside the single verbs: all commands sent to Redis, subscriptions
// included, and all calls of the API of Cloud Tasks.
const (
	RedisCommands = "redis commands"
	QueueCalls    = "queue calls"
)

// Result is what a run came to.
type Result struct {
	Scenario Scenario
	// Violations of the promises, in order; empty when all were kept.
	Violations []string
	// Requests that were acknowledged, Queued that had a task; Runs of the target; Dispatches of the queue.
	Requests, Queued, Runs int
	// Dead are the requests that were given up, Cancelled those taken out.
	Dead, Cancelled   int
	Dispatches, Tasks int64
	// Exceptions counts what the windows that are stated allowed, by window.
	Exceptions map[string]int
	// Steps are the calls over a network, Faults what went wrong in them, Kinds the same by kind.
	Steps, Faults int
	Kinds         map[string]int
	// Makespan is from the first submission to the last end.
	Makespan time.Duration
	// Took are the handler times, in the order of the runs.
	Took []time.Duration
	// Idle is the longest time that a lane stood with a runnable head, Idles are all such times, one for each grant, ascending.
	Idle  time.Duration
	Idles []time.Duration
	// Losses counts those of Redis.
	Losses map[Loss]int
	// Calls counts scripts, queue calls and what the executor counts.
	Calls map[string]int

	struck []strike
	lines  []line
}

// Ideal is the least makespan that pace, concurrency and order allow these runs on one lane that all requests reach at once.
func (r Result) Ideal() (end time.Duration) {
	var start, tat time.Duration
	free := make([]time.Duration, r.Scenario.Concurrency)
	for _, took := range r.Took {
		slices.Sort(free)
		start = max(start, free[0], tat-time.Duration(r.Scenario.Burst-1)*r.Scenario.Spacing)
		tat = max(tat, start) + r.Scenario.Spacing
		free[0] = start + took
		end = max(end, free[0])
	}
	return end
}

// result sums up.
func (w *World) result() Result {
	o, stats := w.oracle, w.queue.stats()
	o.mu.Lock()
	defer o.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	acked, dead, cancelled := 0, 0, 0
	for _, r := range o.order {
		switch r.status {
		case slot.GiveUp:
			dead++
		case slot.Outcome(slot.Cancelled):
			cancelled++
		}
		if !r.acked.IsZero() {
			acked++
		}
	}
	losses := map[Loss]int{}
	for _, l := range o.losses {
		losses[l.how]++
	}
	kinds := map[string]int{}
	for _, s := range w.struck {
		kinds[strings.TrimRight(s.what, "-0123456789")]++ // without the number of the instance
	}
	return Result{
		Scenario: w.Scenario, Violations: slices.Clone(o.violations), Requests: acked, Queued: o.queued, Runs: o.runs, Dead: dead, Cancelled: cancelled,
		Dispatches: stats.Dispatches, Tasks: stats.Created, Makespan: o.last.Sub(w.start), Took: slices.Clone(o.took), Idle: o.idle, Idles: slices.Sorted(slices.Values(o.idles)),
		Exceptions: o.excepted, Losses: losses, Calls: w.counts, Steps: int(w.steps.Load()), Faults: len(w.struck), Kinds: kinds, struck: w.struck, lines: w.lines,
	}
}
