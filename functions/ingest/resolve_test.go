package ingest_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// stateBody is what of a request's state these tests look at.
type stateBody struct {
	ID, Status string
	Ticket     int64
	Error      struct{ Reason string }
	Result     struct{ Body string }
}

// end frees the lane and runs the request of a task to its end.
func (b *bundle) end(e taskqueue.Envelope, free func(), status int, text string) {
	free()
	started, err := b.store.Start(b.t.Context(), b.lane(e.Key), slot.StartRequest{
		Ticket: e.Ticket, Incarnation: e.Incarnation, Request: e.ID, Owner: "executor", Jitter: 1,
	})
	if err != nil || started.Verdict != slot.Run {
		b.t.Errorf("start: %s %v", started.Verdict, err)
		return
	}
	response, err := lane.EncodeResponse(&target.Response{Status: status, Body: []byte(text)}, 1<<10)
	if err == nil {
		_, err = b.store.Finish(b.t.Context(), b.lane(e.Key), slot.FinishRequest{
			Grant: started.Grant, Request: e.ID, Outcome: slot.Accept, Response: response, Jitter: 1,
		})
	}
	if err != nil {
		b.t.Error(err)
	}
}

func (b *bundle) post(path, body string) int { b.t.Helper(); return b.call("POST", path, body).Code }

func TestParkedLane(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		b.target.answer(422, "never")
		first := wantAccepted(t, b.submit("parks-a"))
		if first.Status != "queued" || b.queue.count() != 1 {
			t.Errorf("%+v and %d tasks, want it queued with a task of its own", first, b.queue.count())
		}
		second := wantAccepted(t, b.submit("parks-a"))
		lane := body[laneBody](t, b.get("/v1/lanes/parks-a"))
		if lane.Depth != 2 || lane.Why.Reason != "parked" || lane.Why.Clear != "POST /v1/lanes/parks-a/dead-letters/"+first.ID+"/redrive" {
			t.Errorf("lane: %+v", lane)
		}
		state := body[stateBody](t, b.get(first.path()))
		if state.Status != "queued" || state.Error.Reason == "" || state.Result.Body != "never" {
			t.Errorf("state: %+v, want it queued with its last failure", state)
		}
		if code := b.post(second.path()+"/skip", ""); code != 409 {
			t.Errorf("skipping one that waits: %d, want 409", code)
		}
		if code := b.post(first.path()+"/resolve", `{"as":"done"}`); code != 409 {
			t.Errorf("resolving one that is parked: %d, want 409", code)
		}
		w := b.call("POST", first.path()+"/skip", "")
		if got := body[stateBody](t, w); w.Code != 200 || got.Status != "dead" {
			t.Errorf("skip: %d %s", w.Code, w.Body)
		}
		if b.kicks() != 1 {
			t.Errorf("%d kicks, want one for the head behind", b.kicks())
		}
		if got := b.get(first.path() + "/result"); got.Code != 422 || got.Body.String() != "never" {
			t.Errorf("its result: %d %s", got.Code, got.Body)
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		for as, want := range map[string]string{"done": "done", "dead": "dead", "retry": "queued"} {
			b := setupOn(t, rdb)
			key := "holds-" + as
			l := b.lane(key)
			l.Lease = time.Millisecond
			r, err := b.store.Reserve(t.Context(), l, slot.ReserveRequest{
				ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Fingerprint: "f", Owner: "died", Immediate: true, Target: "work",
			})
			if err != nil || r.Verdict != slot.Run {
				t.Fatal(r, err)
			}
			b.waitRedis(2 * time.Millisecond) // its lease is lost
			path := "/v1/lanes/" + key + "/requests/aaaaaaaaaaaaaaaaaaaaaaaaaa"
			if w := b.get(path); w.Header().Get("Seriatim-Status") != "unknown" {
				t.Errorf("state: %d %s", w.Code, w.Body)
			}
			wantProblem(t, b.get(path+"/result"), 409, problem.NotFinished)
			wantProblem(t, b.call("DELETE", path, ""), 409, problem.Conflict)
			for _, bad := range []string{"", "{}", `{"as":"gone"}`, `{"as":"done"} x`, `{"as":"done","at":1}`, "done"} {
				wantProblem(t, b.call("POST", path+"/resolve", bad), 400, problem.MalformedHeader)
			}
			w := b.call("POST", path+"/resolve", `{"as":"`+as+`"}`)
			if got := body[stateBody](t, w); w.Code != 200 || got.Status != want {
				t.Errorf("as %s: %d %s", as, w.Code, w.Body)
			}
			wantProblem(t, b.call("POST", "/v1/lanes/"+key+"/requests/bbbbbbbbbbbbbbbbbbbbbbbbbb/resolve", `{"as":"done"}`), 404, problem.UnknownRequest)
		}
	})
}

func TestPausedTarget(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		w := b.call("POST", "/v1/targets/held.back/pause", "")
		if w.Code != 200 || w.Body.String() != `{"name":"held.back","paused":true}` {
			t.Errorf("pause: %d %s", w.Code, w.Body)
		}
		wantAccepted(t, b.submit("back-a"))
		if n := len(b.target.calls()); n != 0 {
			t.Errorf("%d immediate runs against a paused target", n)
		}
		if lane := body[laneBody](t, b.get("/v1/lanes/back-a")); lane.Why.Reason != "target-paused" || lane.Why.Clear != "POST /v1/targets/held.back/resume" {
			t.Errorf("lane: %+v", lane)
		}
		wantStatus(t, b.submit("lane-other"), 200, "done")
		if w := b.call("POST", "/v1/targets/held.back/resume", ""); w.Code != 200 || w.Body.String() != `{"name":"held.back","paused":false}` {
			t.Errorf("resume: %d %s", w.Code, w.Body)
		}
		wantStatus(t, b.submit("back-b"), 200, "done")
		wantProblem(t, b.call("POST", "/v1/targets/nobody/pause", ""), 404, problem.UnknownTarget)
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := b.occupy("paced-a")
	defer release()
	for _, late := range []string{"59", "2020-01-01T00:00:00Z", time.Now().Add(30 * time.Second).Format(time.RFC3339)} {
		w := b.submit("paced-a", header{"Seriatim-Deadline", late})
		wantProblem(t, w, 409, problem.DeadlineUnreachable)
		if got := body[struct{ Slot time.Time }](t, w); time.Until(got.Slot) < 50*time.Second {
			t.Errorf("%s: slot %v, want the earliest start, about a minute from now", late, got.Slot)
		}
	}
	wantAccepted(t, b.submit("paced-a", header{"Seriatim-Deadline", "120"}))
	if got := b.queue.of("request")[0].Envelope.Deadline; time.Until(got) > 120*time.Second || time.Until(got) < 100*time.Second {
		t.Errorf("the task says %v, want the deadline", got)
	}
	for _, bad := range []string{"", "soon", "-1", "1.5", "2026-12-01"} {
		wantProblem(t, b.submit("paced-a", header{"Seriatim-Deadline", bad}), 400, problem.MalformedHeader)
	}
	wantProblem(t, b.submit("paced-a", header{"Seriatim-Deadline", "9"}, header{"Seriatim-Deadline", "9"}), 400, problem.MalformedHeader)
}

func TestPreferWait(t *testing.T) {
	t.Parallel()
	wait := header{"Prefer", "wait=60"}
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		t.Run("a submission that is queued answers with its end, when that comes", func(t *testing.T) {
			b := setupOn(t, rdb)
			release := b.occupy("lane-wait")
			defer release()
			b.queue.after(func(e taskqueue.Envelope) { go b.end(e, release, 201, "made") })
			w := b.submit("lane-wait", wait, once("k"), async)
			if w.Code != 201 || w.Body.String() != "made" || w.Header().Get("Seriatim-Status") != "done" ||
				w.Header().Get("Preference-Applied") != "wait=60" || w.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
			}
		})
		t.Run("a duplicate and a look at the state wait as well", func(t *testing.T) {
			b := setupOn(t, rdb)
			release := b.occupy("lane-many")
			defer release()
			wantAccepted(t, b.submit("lane-many", once("k")))
			e := b.queue.of(taskqueue.KindRequest)[0].Envelope
			answers := make(chan *http.Response, 2)
			for _, ask := range []func() *http.Response{
				func() *http.Response { return b.submit("lane-many", wait, once("k")).Result() },
				func() *http.Response { return b.call("GET", "/v1/lanes/lane-many/requests/"+e.ID, "", wait).Result() },
			} {
				go func() { answers <- ask() }()
			}
			b.end(e, release, 200, "made")
			for range 2 {
				if r := <-answers; r.StatusCode != 200 || r.Header.Get("Seriatim-Status") != "done" {
					text, _ := io.ReadAll(r.Body)
					t.Errorf("%d %s", r.StatusCode, text)
				}
			}
		})
	})
	t.Run("patience ends, and the answer is what it would have been", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("lane-a")
		defer release()
		w := b.submit("lane-a", header{"Prefer", `wait="1"`}, async)
		if a := wantAccepted(t, w); a.Status != "queued" || a.Position != 1 || w.Header().Get("Preference-Applied") != "respond-async, wait=1" {
			t.Errorf("%+v %v", a, w.Header())
		}
	})
	t.Run("an instance that goes answers at once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("lane-a")
		defer release()
		gone := sync.OnceFunc(func() { go func() { _ = b.drain.Close(t.Context()) }() })
		b.queue.after(func(taskqueue.Envelope) { gone() })
		wantAccepted(t, b.submit("lane-a", wait))
	})
	t.Run("what is no number of seconds is refused", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, bad := range []string{"wait", "wait=", "wait=soon", "wait=-1", "wait=1.5"} {
			wantProblem(t, b.submit("lane-a", header{"Prefer", bad}), 400, problem.MalformedHeader)
			wantProblem(t, b.call("GET", "/v1/lanes/lane-a/requests/aaaaaaaaaaaaaaaaaaaaaaaaaa", "", header{"Prefer", bad}), 400, problem.MalformedHeader)
		}
	})
}
