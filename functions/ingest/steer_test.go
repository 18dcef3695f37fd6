package ingest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// laneBody is what of a lane's state these tests look at.
type laneBody struct {
	Depth  int64
	Paused bool
	Why    struct{ Reason, Clear string }
}

func (b *bundle) kicks() int {
	b.t.Helper()
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	n := 0
	for _, task := range b.queue.tasks {
		if task.Envelope.Kind == taskqueue.KindKick {
			n++
		}
	}
	return n
}

func TestSteering(t *testing.T) {
	t.Parallel()
	t.Run("a paused lane runs nothing at once, says so, and goes on with a kick", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		w := b.call("POST", "/v1/lanes/lane-a/pause", "")
		if got := body[laneBody](t, w); w.Code != 200 || !got.Paused || got.Why.Reason != "paused" || got.Why.Clear != "POST /v1/lanes/lane-a/resume" {
			t.Errorf("pause: %d %s", w.Code, w.Body)
		}
		id := wantAccepted(t, b.submit("lane-a")).ID
		if calls := b.target.calls(); len(calls) != 0 {
			t.Errorf("%d runs while paused", len(calls))
		}
		b.waitRedis(5 * time.Millisecond) // its task is late
		w = b.call("POST", "/v1/lanes/lane-a/resume", "")
		if got := body[laneBody](t, w); w.Code != 200 || got.Paused || got.Depth != 1 {
			t.Errorf("resume: %d %s", w.Code, w.Body)
		}
		if b.kicks() != 1 {
			t.Errorf("%d kicks after resume of a lane with request %s, want 1", b.kicks(), id)
		}
	})
	t.Run("a purge cancels what waits, and the next request runs", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var ids []string
		for range 3 {
			ids = append(ids, wantAccepted(t, b.submit("async-a")).ID)
		}
		w := b.call("POST", "/v1/lanes/async-a/purge", "")
		if got := body[laneBody](t, w); w.Code != 200 || got.Depth != 0 || got.Why.Reason != "idle" {
			t.Errorf("purge: %d %s", w.Code, w.Body)
		}
		for _, id := range ids {
			wantStatus(t, b.get("/v1/lanes/async-a/requests/"+id), 200, "cancelled")
			w := b.get("/v1/lanes/async-a/requests/" + id + "/result")
			wantProblem(t, w, 410, problem.Cancelled)
		}
	})
	t.Run("a waiting request is cancelled once and for all, and its key is free", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		id := wantAccepted(t, b.submit("async-a", once("order"))).ID
		for range 2 {
			wantStatus(t, b.call("DELETE", "/v1/lanes/async-a/requests/"+id, ""), 200, "cancelled")
		}
		again := wantAccepted(t, b.call("POST", "/v1/lanes/async-a/requests", "other content", once("order")))
		if again.ID != id {
			t.Errorf("the key used again has id %s, want %s", again.ID, id)
		}
	})
	t.Run("a call that is refused for its Prefer has done nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := wantAccepted(t, b.submit("async-a"))
		wantProblem(t, b.call("DELETE", a.path(), "", header{"Prefer", "wait=long"}), 400, problem.MalformedHeader)
		wantProblem(t, b.call("POST", a.path()+"/skip", "", header{"Prefer", "wait=long"}), 400, problem.MalformedHeader)
		wantStatus(t, b.get(a.path()), 200, "queued")
	})
	t.Run("what runs, has ended or is unknown is not cancelled", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		done := b.submit("lane-a").Header().Get("Seriatim-Request-Id")
		w := b.call("DELETE", "/v1/lanes/lane-a/requests/"+done, "")
		wantProblem(t, w, 409, problem.Conflict)
		wantStatus(t, w, 409, "done")
		b.occupyWith("lane-b", once("order"))
		state, _ := b.inspect("lane-b", "")
		w = b.call("DELETE", "/v1/lanes/lane-b/requests/"+state.Running[0].Request, "")
		wantProblem(t, w, 409, problem.Conflict)
		wantStatus(t, w, 409, "running")
		w = b.call("DELETE", "/v1/lanes/lane-a/requests/"+strings.Repeat("a", 26), "")
		wantProblem(t, w, 404, problem.UnknownRequest)
	})
	t.Run("a kick that cannot be left is said, so that the call is repeated", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.call("POST", "/v1/lanes/lane-a/pause", "")
		wantAccepted(t, b.submit("lane-a"))
		b.waitRedis(5 * time.Millisecond) // its task is late
		b.queue.create = func(taskqueue.Task, func()) error { return taskqueue.ErrRefused }
		wantProblem(t, b.call("POST", "/v1/lanes/lane-a/resume", ""), 503, problem.Unavailable)
	})
}
