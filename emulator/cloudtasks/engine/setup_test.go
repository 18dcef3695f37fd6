package engine_test

import (
	"container/heap"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const (
	place = "projects/p/locations/l"
	name  = place + "/queues/q"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// fataler is a test, a benchmark or a property's check.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// world drives an engine single-threaded on a simulated clock: every attempt
// ends as answer says, at the instant it says.
type world struct {
	*engine.Engine
	t       fataler
	now     time.Time
	answer  func(a *engine.Attempt) (engine.Result, time.Duration)
	pending endings
	starts  []*engine.Attempt
	cancels []*engine.Attempt
	order   int
}

// ending is an attempt's end that lies ahead.
type ending struct {
	at      time.Time
	order   int
	attempt *engine.Attempt
	result  engine.Result
}

type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	if e[i].at.Equal(e[j].at) {
		return e[i].order < e[j].order
	}
	return e[i].at.Before(e[j].at)
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// setup makes a world with the queue name, configured by change; targets
// answer 200 at once.
func setup(t fataler, options engine.Options, change ...func(*cloudtaskspb.Queue)) *world {
	t.Helper()
	w := &world{Engine: engine.New(options), t: t, now: start}
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 200}, 0 }
	q := &cloudtaskspb.Queue{Name: name}
	for _, c := range change {
		c(q)
	}
	if _, err := w.AddQueue(w.now, q); err != nil {
		t.Fatal(err)
	}
	return w
}

// statuses makes the targets answer these in turn, at once, the last for ever.
func (w *world) statuses(list ...int) {
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		status := list[0]
		if len(list) > 1 {
			list = list[1:]
		}
		return engine.Result{Status: status}, 0
	}
}

// run moves the clock by d, through every event on the way.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for {
		w.step()
		next, ok := w.Next()
		if len(w.pending) > 0 && (!ok || w.pending[0].at.Before(next)) {
			next, ok = w.pending[0].at, true
		}
		if !ok || next.After(end) {
			w.now = end
			return
		}
		if next.After(w.now) {
			w.now = next
		}
	}
}

// step ends what ends now and starts what is due.
func (w *world) step() {
	for len(w.pending) > 0 && !w.pending[0].at.After(w.now) {
		e := heap.Pop(&w.pending).(ending)
		w.Finish(w.now, e.attempt, e.result)
	}
	step := w.Advance(w.now)
	w.cancels = append(w.cancels, step.Cancel...)
	for _, a := range step.Start {
		w.starts = append(w.starts, a)
		result, after := w.answer(a)
		w.order++
		heap.Push(&w.pending, ending{w.now.Add(after), w.order, a, result})
	}
}

// offsets are the instants of all starts so far, relative to the world's start.
func (w *world) offsets() []time.Duration {
	var offsets []time.Duration
	for _, a := range w.starts {
		offsets = append(offsets, a.Started.Sub(start))
	}
	return offsets
}

// httpTask is a task for an HTTP target.
func httpTask(change ...func(*cloudtaskspb.Task)) *cloudtaskspb.Task {
	t := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: "http://target.example/work"}}}
	for _, c := range change {
		c(t)
	}
	return t
}

func named(id string) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.Name = name + "/tasks/" + id }
}

func due(at time.Time) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.ScheduleTime = timestamppb.New(at) }
}

func deadline(d time.Duration) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.DispatchDeadline = durationpb.New(d) }
}

func limits(rate float64, burst, concurrent int32) func(*cloudtaskspb.Queue) {
	return func(q *cloudtaskspb.Queue) {
		q.RateLimits = &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: rate, MaxBurstSize: burst, MaxConcurrentDispatches: concurrent}
	}
}

func retries(attempts int32, total, low, high time.Duration, doublings int32) func(*cloudtaskspb.Queue) {
	return func(q *cloudtaskspb.Queue) { q.RetryConfig = retryConfig(attempts, total, low, high, doublings) }
}

func retryConfig(attempts int32, total, low, high time.Duration, doublings int32) *cloudtaskspb.RetryConfig {
	return &cloudtaskspb.RetryConfig{
		MaxAttempts: attempts, MaxRetryDuration: durationpb.New(total),
		MinBackoff: durationpb.New(low), MaxBackoff: durationpb.New(high), MaxDoublings: doublings,
	}
}

// create stores a task that must be accepted.
func (w *world) create(change ...func(*cloudtaskspb.Task)) *cloudtaskspb.Task {
	w.t.Helper()
	created, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: httpTask(change...)})
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}
