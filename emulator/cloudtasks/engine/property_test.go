package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// drawPlan draws times in whole milliseconds, with a few microseconds that
// differ from task to task, so that nothing but the plan decides a tie.
func drawPlan(t *rapid.T) plan {
	ms := func(what string, low, high int) float64 {
		return float64(rapid.IntRange(low, high).Draw(t, what)) / 1000
	}
	p := plan{
		rate:       rapid.SampledFrom([]float64{0.2, 0.5, 1, 2, 8, 50, 500}).Draw(t, "rate"),
		burst:      rapid.IntRange(1, 4).Draw(t, "burst"),
		concurrent: rapid.IntRange(1, 4).Draw(t, "concurrent"),
		attempts:   rapid.SampledFrom([]int{-1, 1, 2, 5, 20}).Draw(t, "attempts"),
		total:      rapid.SampledFrom([]float64{0, 0, 5, 60}).Draw(t, "duration"),
		low:        ms("min backoff", 100, 5000),
		doublings:  rapid.IntRange(1, 5).Draw(t, "doublings"),
	}
	p.high = p.low * float64(rapid.IntRange(1, 50).Draw(t, "max backoff"))
	for i := range rapid.IntRange(1, 25).Draw(t, "tasks") {
		odd := float64(i+1) * 17e-6
		task := planned{create: ms("create", 0, 30000) + odd, deadline: ms("deadline", 15000, 20000)}
		task.due = task.create + ms("delay", -1000, 30000)
		for range rapid.IntRange(1, 4).Draw(t, "behaviours") {
			task.behaviours = append(task.behaviours, behaviour{
				status:     rapid.SampledFrom([]int{200, 204, 302, 400, 404, 429, 500, 503}).Draw(t, "status"),
				takes:      rapid.SampledFrom([]float64{0.02, 0.3, 3, 25}).Draw(t, "takes") + odd*5,
				retryAfter: rapid.SampledFrom([]float64{0, 0, 0, 7, 40}).Draw(t, "retry after"),
			})
		}
		p.tasks = append(p.tasks, task)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "changes") {
		c := change{at: ms("at", 0, 60000) + float64(i+1)*7e-6, pause: rapid.Bool().Draw(t, "pause")}
		c.rate = rapid.SampledFrom([]float64{0, 0, 0.5, 4, 100}).Draw(t, "new rate")
		p.changes = append(p.changes, c)
	}
	return p
}

func span(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// drive lets the engine live through the same plan.
func (p plan) drive(t *rapid.T, end float64) []begun {
	w := setup(t, engine.Options{}, limits(p.rate, int32(p.burst), int32(p.concurrent)),
		retries(int32(p.attempts), span(p.total), span(p.low), span(p.high), int32(p.doublings)))
	indexes, tries := map[string]int{}, map[string]int{}
	w.answer = func(a *engine.Attempt) (engine.Result, time.Duration) {
		list := p.tasks[indexes[a.Task]].behaviours
		tries[a.Task]++
		b := list[min(tries[a.Task], len(list))-1]
		return engine.Result{Status: b.status, RetryAfter: span(b.retryAfter)}, span(b.takes)
	}
	type call struct {
		at float64
		do func()
	}
	var calls []call
	for i, task := range p.tasks {
		calls = append(calls, call{task.create, func() {
			created := w.create(due(start.Add(span(task.due))), deadline(span(task.deadline)))
			indexes[created.GetName()] = i
		}})
	}
	for _, c := range p.changes {
		calls = append(calls, call{c.at, func() { c.perform(w) }})
	}
	slices.SortStableFunc(calls, func(a, b call) int { return int(span(a.at) - span(b.at)) })
	for _, c := range calls {
		w.run(start.Add(span(c.at)).Sub(w.now))
		c.do()
	}
	w.run(start.Add(span(end)).Sub(w.now))
	var starts []begun
	for _, a := range w.starts {
		starts = append(starts, begun{a.Started.Sub(start).Seconds(), indexes[a.Task]})
	}
	return starts
}

func (c change) perform(w *world) {
	var err error
	switch {
	case c.rate != 0:
		_, err = w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name, RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: c.rate}},
			[]string{"rate_limits.max_dispatches_per_second"})
	case c.pause:
		_, err = w.PauseQueue(name)
	default:
		_, err = w.ResumeQueue(name)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestDispatchesAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const end = 400
		p := drawPlan(t)
		want, got := p.simulate(end), p.drive(t, end)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i].task != got[i].task || math.Abs(want[i].at-got[i].at) > 1e-5 {
				t.Fatalf("start %d differs\nmodel  %s\nengine %s", i, around(want, i), around(got, i))
			}
		}
	})
}

// around prints the starts about the i-th.
func around(list []begun, i int) string {
	low, high := max(0, min(i-2, len(list))), min(len(list), i+3)
	return fmt.Sprintf("%d starts, from %d: %v", len(list), low, list[low:high])
}
