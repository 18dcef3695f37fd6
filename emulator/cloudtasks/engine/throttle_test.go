package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// throttled is a world with 10/s and many tasks, all due, whose first answers
// are given.
func throttled(t *testing.T, tasks int, answers ...engine.Result) *world {
	w := setup(t, engine.Options{}, limits(10, 1, 0), retries(-1, 0, time.Hour, time.Hour, 0))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		if len(w.starts) <= len(answers) {
			return answers[len(w.starts)-1], 0
		}
		return engine.Result{Status: 200}, 0
	}
	for range tasks {
		w.create()
	}
	return w
}

// perSecond is how many attempts start in each of the first n seconds.
func (w *world) perSecond(n int) []int {
	counts := make([]int, n)
	for _, offset := range w.offsets() {
		if second := int(offset / time.Second); second < n {
			counts[second]++
		}
	}
	return counts
}

func TestOverloadSlowsTheWholeQueueForAWhile(t *testing.T) {
	t.Parallel()
	full := func(n, count int) (list []int) {
		for range n {
			list = append(list, count)
		}
		return list
	}
	for what, c := range map[string]struct {
		answers []engine.Result
		want    []int
	}{
		"FACTS.md 1.3: 429 slows":           {[]engine.Result{{Status: 429}}, append(full(10, 5), 10, 10)},
		"FACTS.md 1.3: 503 slows":           {[]engine.Result{{Status: 503}}, append(full(10, 5), 10, 10)},
		"500 alone does not":                {[]engine.Result{{Status: 500}}, full(12, 10)},
		"Retry-After prolongs it":           {[]engine.Result{{Status: 503, RetryAfter: 20 * time.Second}}, append(full(20, 5), 10)},
		"many at once count once a second":  {[]engine.Result{{Status: 503}, {Status: 503}, {Status: 503}}, append(full(10, 5), 8)},
		"a short Retry-After shortens none": {[]engine.Result{{Status: 429, RetryAfter: time.Second}}, append(full(10, 5), 10)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := throttled(t, 300, c.answers...)
			w.run(30 * time.Second)
			if diff := cmp.Diff(c.want, w.perSecond(len(c.want))); diff != "" {
				t.Errorf("starts per second (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHighRateOfErrorsSlowsTheQueue(t *testing.T) {
	t.Parallel()
	w := throttled(t, 2000)
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 500}, 0 }
	w.run(20 * time.Second)
	if got := w.perSecond(20); got[0] != 10 || got[19] > 2 {
		t.Errorf("starts per second %v: want a fall from 10 to at most 2", got)
	}
	// When errors stop, the rate comes back.
	w.statuses(200)
	w.run(3 * time.Minute)
	if got := w.perSecond(200); got[199] != 10 {
		t.Errorf("starts per second end at %v, want 10", got[190:])
	}
}

func TestRetryAfterHoldsTheTaskBack(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ after, want time.Duration }{
		"longer than the back-off":  {30 * time.Second, 30 * time.Second},
		"shorter than the back-off": {time.Second, 10 * time.Second},
		"at most an hour":           {48 * time.Hour, time.Hour},
		"negative is none":          {-time.Hour, 10 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := setup(t, engine.Options{}, retries(2, 0, 10*time.Second, 10*time.Second, 1))
			w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
				return engine.Result{Status: 503, RetryAfter: c.after}, 0
			}
			w.create()
			w.run(3 * time.Hour)
			if diff := cmp.Diff([]time.Duration{c.want}, w.gaps()); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}
