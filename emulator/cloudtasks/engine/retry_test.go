package engine_test

import (
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// gaps are the times between consecutive starts.
func (w *world) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(w.starts); i++ {
		gaps = append(gaps, w.starts[i].Started.Sub(w.starts[i-1].Started))
	}
	return gaps
}

func seconds(list ...float64) []time.Duration {
	var d []time.Duration
	for _, s := range list {
		d = append(d, time.Duration(s*float64(time.Second)))
	}
	return d
}

func TestRetryIntervalsFollowTheDocumentedFormula(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		low, high time.Duration
		doublings int32
		want      []time.Duration
	}{
		"FACTS.md 1.3, the printed example": {10 * time.Second, 300 * time.Second, 3, seconds(10, 20, 40, 80, 160, 240, 300, 300)},
		"no doubling is linear":             {time.Second, 5 * time.Second, 0, seconds(1, 2, 3, 4, 5, 5)},
		"one doubling":                      {time.Second, time.Hour, 1, seconds(1, 2, 4, 6, 8, 10)},
		"a cap below the first doubling":    {2 * time.Second, 3 * time.Second, 16, seconds(2, 3, 3)},
		"fractions":                         {100 * time.Millisecond, time.Hour, 16, seconds(.1, .2, .4, .8, 1.6)},
		"doublings without end":             {time.Second, 8 * time.Second, 1 << 30, seconds(1, 2, 4, 8, 8)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := setup(t, engine.Options{}, limits(500, 100, 1), retries(-1, 0, c.low, c.high, 0))
			if _, err := w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name, RetryConfig: &cloudtaskspb.RetryConfig{MaxDoublings: c.doublings}}, []string{"retry_config.max_doublings"}); err != nil {
				t.Fatal(err)
			}
			w.statuses(400)
			w.create()
			for len(w.starts) <= len(c.want) {
				w.run(time.Second)
			}
			if diff := cmp.Diff(c.want, w.gaps()[:len(c.want)]); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNextAttemptIsScheduledFromTheEndOfTheLast(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, retries(2, 0, 10*time.Second, time.Minute, 1))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		return engine.Result{Status: 400}, 5 * time.Second
	}
	w.create()
	w.run(time.Minute)
	if diff := cmp.Diff(seconds(15), w.gaps()); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.3: dropped only when both limits that are set are reached.
func TestATaskIsGivenUpWhenAttemptsAndDurationAreSpent(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		attempts int32
		total    time.Duration
		want     int // attempts, one a second
	}{
		"attempts alone":                      {3, 0, 3},
		"duration alone":                      {-1, 4 * time.Second, 5},
		"attempts first, duration still runs": {2, 10 * time.Second, 11},
		"duration first, attempts remain":     {10, 2 * time.Second, 10},
		"neither: until retention":            {-1, 0, 3600},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := setup(t, engine.Options{}, limits(500, 100, 1), retries(c.attempts, c.total, time.Second, time.Second, 1))
			w.statuses(400)
			w.create()
			w.run(time.Hour - 1)
			if len(w.starts) != c.want {
				t.Errorf("%d attempts, want %d", len(w.starts), c.want)
			}
			if given := w.Stats().GivenUp; (given == 1) != (c.want < 3600) {
				t.Errorf("given up %d", given)
			}
		})
	}
}

// FACTS.md 1.3: Task.retry_config overrides the queue's.
func TestATasksOwnRetryConfigOverridesTheQueues(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, retries(1, 0, time.Minute, time.Minute, 1))
	w.statuses(400)
	created := w.create(func(t *cloudtaskspb.Task) {
		t.RetryConfig = &cloudtaskspb.RetryConfig{MaxAttempts: 3, MinBackoff: durationpb.New(2 * time.Second)}
	})
	if got := created.GetRetryConfig().GetMaxBackoff().AsDuration(); got != time.Hour {
		t.Errorf("max backoff %v, want the default of 1 h", got)
	}
	w.run(time.Hour)
	if diff := cmp.Diff(seconds(2, 4), w.gaps()); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

func TestUpdateQueueTakesEffectOnWhatWaits(t *testing.T) {
	t.Parallel()
	update := func(w *world, q *cloudtaskspb.Queue, paths ...string) *cloudtaskspb.Queue {
		t.Helper()
		q.Name = name
		updated, err := w.UpdateQueue(w.now, q, paths)
		if err != nil {
			t.Fatal(err)
		}
		return updated
	}
	t.Run("rate", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{}, limits(0.001, 1, 0))
		for range 3 {
			w.create()
		}
		w.run(500 * time.Second) // half a token has grown
		got := update(w, &cloudtaskspb.Queue{RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 2}}, "rate_limits.max_dispatches_per_second")
		if b := got.GetRateLimits().GetMaxBurstSize(); b != 2 {
			t.Errorf("burst %d, want 2: it follows the rate", b)
		}
		w.run(time.Hour)
		if diff := cmp.Diff(seconds(500.25, 0.5), w.gaps()); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
	t.Run("retries", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{}, retries(-1, 0, time.Second, time.Second, 1))
		w.statuses(400)
		w.create()
		w.run(500 * time.Millisecond)
		update(w, &cloudtaskspb.Queue{RetryConfig: retryConfig(3, 0, 7*time.Second, time.Minute, 1)}, "retryConfig")
		w.run(time.Hour)
		if diff := cmp.Diff(seconds(1, 14), w.gaps()); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
	t.Run("no mask replaces all but name, state and purge time", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{}, limits(1, 1, 1))
		if _, err := w.PauseQueue(name); err != nil {
			t.Fatal(err)
		}
		got := update(w, &cloudtaskspb.Queue{State: cloudtaskspb.Queue_RUNNING})
		if got.GetState() != cloudtaskspb.Queue_PAUSED || got.GetRateLimits().GetMaxDispatchesPerSecond() != 500 {
			t.Errorf("updated to %v", got)
		}
	})
	t.Run("an unknown queue is created", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{})
		if _, err := w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name + "2"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.GetQueue(name + "2"); err != nil {
			t.Error(err)
		}
	})
}
