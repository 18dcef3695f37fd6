package engine_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func TestATaskStartsAtItsScheduleTimeAndNotBefore(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	w.create(due(start.Add(40 * time.Second)))
	w.run(40*time.Second - 1)
	if len(w.starts) != 0 {
		t.Fatalf("started %v early", w.offsets())
	}
	w.run(1)
	if diff := cmp.Diff([]time.Duration{40 * time.Second}, w.offsets()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.1: unset or past is now, in microseconds; create_time in seconds.
func TestScheduleAndCreateTimesAreTruncated(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	if _, err := w.PauseQueue(name); err != nil {
		t.Fatal(err)
	}
	w.now = start.Add(1500*time.Millisecond + 1999)
	unset, past, future := w.create(), w.create(due(start)), w.create(due(start.Add(time.Hour+1999)))
	for what, got := range map[string]struct{ got, want time.Time }{
		"unset":  {unset.GetScheduleTime().AsTime(), start.Add(1500*time.Millisecond + 1000)},
		"past":   {past.GetScheduleTime().AsTime(), start.Add(1500*time.Millisecond + 1000)},
		"future": {future.GetScheduleTime().AsTime(), start.Add(time.Hour + 1000)},
		"create": {future.GetCreateTime().AsTime(), start.Add(time.Second)},
	} {
		if !got.got.Equal(got.want) {
			t.Errorf("%s: %v, want %v", what, got.got, got.want)
		}
	}
}

// FACTS.md 1.4 and 1.3: 503,404,429,500,302,200 count 0,0,1,2,2,3 executions;
// every attempt is a retry; a bare 302 is a failed attempt.
func TestHeadersCountAsRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, retries(-1, 0, time.Minute, time.Minute, 0))
	w.statuses(503, 404, 429, 500, 302, 200)
	w.create(named("x"))
	w.run(time.Hour)
	var got [][4]string
	for _, a := range w.starts {
		h := a.Request.Header
		got = append(got, [4]string{
			h["X-CloudTasks-TaskRetryCount"][0], h["X-CloudTasks-TaskExecutionCount"][0],
			fmt.Sprint(h["X-CloudTasks-TaskPreviousResponse"]), fmt.Sprintf("%q", h["X-CloudTasks-TaskRetryReason"]),
		})
	}
	want := [][4]string{
		{"0", "0", "[]", "[]"},
		{"1", "0", "[503]", `[""]`},
		{"2", "1", "[404]", `[""]`},
		{"3", "2", "[429]", `[""]`},
		{"4", "2", "[500]", `[""]`},
		{"5", "3", "[302]", `[""]`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("retry count, execution count, previous response, reason (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.4: after a deadline the previous response is 504.
func TestAnAttemptPastItsDeadlineIsCancelledAndCounts504(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, retries(-1, 0, time.Second, time.Second, 0))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		return engine.Result{Status: 200}, 20 * time.Second
	}
	created := w.create(named("x"), deadline(15*time.Second))
	w.run(16*time.Second + 500*time.Millisecond)
	if len(w.cancels) != 1 || len(w.starts) != 2 || w.cancels[0] != w.starts[0] {
		t.Fatalf("cancelled %v of %v", w.cancels, w.offsets())
	}
	if got := w.starts[1].Request.Header["X-CloudTasks-TaskPreviousResponse"]; !slices.Equal(got, []string{"504"}) {
		t.Errorf("previous response %q, want 504", got)
	}
	shown, err := w.GetTask(w.now, created.GetName(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if shown.GetDispatchCount() != 2 || shown.GetResponseCount() != 0 {
		t.Errorf("%d dispatches and %d responses, want 2 and 0", shown.GetDispatchCount(), shown.GetResponseCount())
	}
	// The late answer of the cancelled attempt deletes nothing.
	w.run(5 * time.Second)
	if _, err := w.GetTask(w.now, created.GetName(), 0); err != nil {
		t.Errorf("the task is gone after a late answer: %v", err)
	}
}

func TestAQueueHasAtMostItsConcurrencyInFlight(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, limits(500, 100, 3))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 200}, time.Second }
	for range 10 {
		w.create()
	}
	w.run(time.Minute)
	s := time.Second
	if diff := cmp.Diff([]time.Duration{0, 0, 0, s, s, s, 2 * s, 2 * s, 2 * s, 3 * s}, w.offsets()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestAQueueStartsNoFasterThanItsRate(t *testing.T) {
	t.Parallel()
	for rate, interval := range map[float64]time.Duration{0.001: 1000 * time.Second, 0.4: 2500 * time.Millisecond, 3: time.Second / 3, 500: 2 * time.Millisecond} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			w := setup(t, engine.Options{}, limits(rate, 2, 0))
			for range 4 {
				w.create()
			}
			w.run(time.Hour)
			if diff := cmp.Diff([]time.Duration{0, 0, interval, 2 * interval}, w.offsets()); diff != "" {
				t.Errorf("starts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoResponseIsAFailedAttemptWithoutAResponse(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{}, retries(-1, 0, time.Second, time.Second, 0))
	w.statuses(0, 200)
	w.create()
	w.run(time.Minute)
	if len(w.starts) != 2 {
		t.Fatalf("starts %v", w.offsets())
	}
	h := w.starts[1].Request.Header
	if h["X-CloudTasks-TaskPreviousResponse"] != nil || h["X-CloudTasks-TaskRetryCount"][0] != "1" || h["X-CloudTasks-TaskExecutionCount"][0] != "0" {
		t.Errorf("headers %v", h)
	}
}

func TestReservedHeadersAreReplacedAndOthersKeepTheirCase(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	w.create(named("x"), func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().Headers = map[string]string{
			"X-Mixed-Case": "kept", "content-type": "application/json", "HOST": "evil", "user-agent": "mine",
			"X-Google-A": "1", "x-appengine-b": "2", "X-CloudTasks-TaskRetryCount": "99",
		}
	})
	w.run(0)
	want := http.Header{
		"X-Mixed-Case": {"kept"}, "content-type": {"application/json"}, "User-Agent": {"Google-Cloud-Tasks"},
		"X-CloudTasks-QueueName": {"q"}, "X-CloudTasks-TaskName": {"x"}, "X-CloudTasks-TaskRetryCount": {"0"},
		"X-CloudTasks-TaskExecutionCount": {"0"}, "X-CloudTasks-TaskETA": {"1796119200.000000"},
	}
	if diff := cmp.Diff(want, w.starts[0].Request.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}
