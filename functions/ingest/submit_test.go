package ingest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestAnIdleLaneAnswersWithItsTarget(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		b.target.next(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-thing")
			w.Header().Set("Content-Encoding", "br")
			w.Header().Set("X-Internal", "not passed on")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, "made")
		})
		w := b.call("POST", "/v1/lanes/lane-a%2Fb/requests", "payload", once(`"k-1"`), header{"Content-Type", "text/csv"},
			header{"X-Tenant", "7"}, header{"X-Other", "no"}, header{"Authorization", "Bearer t"})
		wantStatus(t, w, 201, "done")
		if diff := cmp.Diff("made", w.Body.String()); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		id := idempotency.RequestID("lane-a/b", "k-1")
		want := http.Header{
			"Content-Type": {"application/x-thing"}, "Content-Encoding": {"br"}, "Cache-Control": {"no-store"},
			"Seriatim-Status": {"done"}, "Seriatim-Request-Id": {id}, "Seriatim-Ticket": w.Header()["Seriatim-Ticket"],
		}
		if diff := cmp.Diff(want, w.Header()); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		got := b.target.calls()[0].Header
		for name, want := range map[string]string{
			"Content-Type": "text/csv", "X-Tenant": "7", "X-Other": "", "Authorization": "", "Seriatim-Key": "lane-a%2Fb",
			"Seriatim-Request-Id": id, "Seriatim-Attempt": "1", "Idempotency-Key": "k-1",
			"Seriatim-Ticket": w.Header().Get("Seriatim-Ticket"),
		} {
			if got.Get(name) != want {
				t.Errorf("the target got %s: %q, want %q", name, got.Get(name), want)
			}
		}
		if n := b.queue.count(); n != 0 {
			t.Errorf("%d tasks for a request that ran at once", n)
		}
	})
}

func TestABusyLaneAnswers202(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		wantStatus(t, b.submit("paced-a"), 200, "done") // takes the pace of a minute
		b.submit("paced-a")
		w := b.submit("paced-a", header{"Content-Type", "text/csv"}, header{"X-Tenant", "7"}, once("k"))
		got := wantAccepted(t, w)
		id := idempotency.RequestID("paced-a", "k")
		if got.ID != id || got.Key != "paced-a" || got.Position != 2 || got.Ticket == 0 {
			t.Errorf("got %+v, want id %s at position 2", got, id)
		}
		state, request := b.inspect("paced-a", id)
		if got.Slot.UnixMilli() != request.Slot || request.Slot-state.Gate != 60_000 {
			t.Errorf("slot %v, lane says %d, gate %d", got.Slot, request.Slot, state.Gate)
		}
		if l := w.Header().Get("Location"); l != "/v1/lanes/paced-a/requests/"+id {
			t.Errorf("Location %q", l)
		}
		wait := (b.slots.reserved.Load().Until(request.Slot) + time.Second - 1) / time.Second
		if s := w.Header().Get("Retry-After"); s != fmt.Sprintf("%d", wait) {
			t.Errorf("Retry-After %q, want %d", s, wait)
		}
		if !strings.Contains(w.Body.String(), got.Slot.UTC().Format(`"slot":"2006-01-02T15:04:05.000Z"`)) {
			t.Errorf("the slot is not RFC 3339 in UTC with milliseconds: %s", w.Body)
		}
		task, ok := b.queue.task(got.Ticket, 0)
		if !ok {
			t.Fatal("acknowledged without a task")
		}
		want := taskqueue.Envelope{
			V: 1, Kind: "request", Key: "paced-a", Incarnation: state.Incarnation, Ticket: got.Ticket, ID: id, Target: "work",
			Header: http.Header{"Content-Type": {"text/csv"}, "X-Tenant": {"7"}}, IdempotencyKey: "k",
			Fingerprint: idempotency.Fingerprint("paced-a", "", "text/csv", []byte("payload")),
			Submitted:   task.Envelope.Submitted, Body: []byte("payload"),
		}
		if diff := cmp.Diff(want, task.Envelope); diff != "" {
			t.Errorf("envelope (-want +got):\n%s", diff)
		}
	})
}

func TestWhatKeepsARequestFromRunningAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key     string
		headers []header
		applied string
	}{
		"the client asks for async":                {"lane-a", []header{async}, "respond-async"},
		"the client asks in its own way":           {"lane-a", []header{{"Prefer", `x="a, wait=1"; y`}, {"Prefer", "handling = lenient , Respond-Async;q=1"}}, "respond-async"},
		"the policy answers async":                 {"async-a", nil, ""},
		"the target takes no immediate requests":   {"capped-a", nil, ""},
		"both, and the client hears its own share": {"async-a", []header{async}, "respond-async"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := b.submit(tt.key, tt.headers...)
			got := wantAccepted(t, w)
			if applied := w.Header().Get("Preference-Applied"); applied != tt.applied {
				t.Errorf("Preference-Applied %q, want %q", applied, tt.applied)
			}
			if s := w.Header().Get("Retry-After"); s != "1" {
				t.Errorf("Retry-After %q, want 1: the slot is now", s)
			}
			if _, ok := b.queue.task(got.Ticket, 0); !ok {
				t.Error("acknowledged without a task")
			}
			if calls := b.target.calls(); len(calls) != 0 {
				t.Errorf("the target was called %d times", len(calls))
			}
		})
	}
}

func TestAFullLane(t *testing.T) {
	t.Parallel()
	t.Run("refuses by depth", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.submit("small-a", async)
		b.submit("small-a", async)
		w := b.submit("small-a", async)
		wantProblem(t, w, 429, problem.LaneFull)
		for name, want := range map[string]string{
			"Retry-After": "60", "RateLimit-Policy": `"depth";q=2;qu="concurrent-requests"`, "RateLimit": `"depth";r=0;t=60`,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		// A duplicate of what waits is no new request.
		wantAccepted(t, b.submit("small-b", async, once("k")))
		b.submit("small-b", async)
		wantAccepted(t, b.submit("small-b", async, once("k")))
	})
	t.Run("refuses beyond the horizon", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for range 30 {
			wantAccepted(t, b.submit("far-a", async))
		}
		w := b.submit("far-a", async)
		wantProblem(t, w, 429, problem.LaneFull)
		if got := w.Header().Get("RateLimit-Policy"); got != `"horizon";q=29;qu="concurrent-requests"` {
			t.Errorf("RateLimit-Policy: %s", got)
		}
		if n := b.queue.count(); n != 30 {
			t.Errorf("%d tasks, want 30", n)
		}
	})
}

func TestTheChosenTargetIsCalled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := wantAccepted(t, b.submit("lane-a", async, header{"Seriatim-Target", "other"}))
	if task, _ := b.queue.task(got.Ticket, 0); task.Envelope.Target != "other" {
		t.Errorf("target %q, want other", task.Envelope.Target)
	}
	if _, request := b.inspect("lane-a", got.ID); request.Target != "other" {
		t.Errorf("the record says target %q, want other", request.Target)
	}
}

func TestTheTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, tt := range map[string]struct {
		headers []header
		want    string
	}{
		"the client's own":                  {[]header{{"traceparent", own}, {"X-Cloud-Trace-Context", "1" + strings.Repeat("0", 31) + "/1"}}, own},
		"Google's, in W3C's form":           {[]header{{"X-Cloud-Trace-Context", "105445aa7843bc8bf206b12000100000/1;o=1"}}, "00-105445aa7843bc8bf206b12000100000-0000000000000001-01"},
		"none that is malformed":            {[]header{{"traceparent", "00-xyz"}}, ""},
		"none that has no span":             {[]header{{"X-Cloud-Trace-Context", "105445aa7843bc8bf206b12000100000"}}, ""},
		"none where the client sends none.": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			got := wantAccepted(t, b.submit("lane-a", append(tt.headers, async)...))
			task, _ := b.queue.task(got.Ticket, 0)
			if diff := cmp.Diff(tt.want, task.Envelope.Traceparent); diff != "" {
				t.Errorf("traceparent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTasksAreDueAsTheLaneSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantStatus(t, b.submit("paced-a"), 200, "done")
	began := time.Now()
	got := wantAccepted(t, b.submit("paced-a"))
	took := time.Since(began)
	// Redis and this instance share a clock here, so all that may lie between the two is the round trip.
	task, _ := b.queue.task(got.Ticket, 0)
	due := time.UnixMilli(b.slots.reserved.Load().Due)
	if late := task.At.Sub(due); late < 0 || late > took+time.Millisecond {
		t.Errorf("the task is due %v after the instant that the lane said", late)
	}
	if lead := got.Slot.Sub(due); lead != 3*time.Second {
		t.Errorf("due %v before the slot, want 3 s", lead)
	}
	if task.DispatchDeadline != slot.InlineWait+2*time.Minute+30*time.Second {
		t.Errorf("dispatch deadline %v", task.DispatchDeadline)
	}
}
