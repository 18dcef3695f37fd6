package ingest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// abort breaks the connection off without an answer.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestAnImmediateRunThatFails(t *testing.T) {
	t.Parallel()
	t.Run("in a way worth a retry is queued in its place", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			b := setupOn(t, rdb)
			b.target.answer(503, "try later")
			got := wantAccepted(t, b.submit("lane-a", once("k")))
			state, request := b.inspect("lane-a", got.ID)
			if state.Next.Ticket != got.Ticket || got.Position != 1 || got.Slot.UnixMilli() != state.HeadNotBefore {
				t.Errorf("answered %+v, lane %+v", got, state)
			}
			if request.Attempts != 1 || request.Reason != "status" {
				t.Errorf("record %+v, want one attempt and why it failed", request)
			}
			if _, ok := b.queue.task(got.Ticket, 0); !ok {
				t.Fatal("acknowledged without a task")
			}
			if b.queue.count() != 1 {
				t.Errorf("%d calls of the queue, want the one task: it is the head's own, due in time", b.queue.count())
			}
		})
	})
	t.Run("for good passes the target's answer on", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(404, "no such product")
		w := b.submit("lane-a")
		wantStatus(t, w, 404, "dead")
		if w.Body.String() != "no such product" || w.Header().Get("Content-Type") != "" && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("got %q of %q", w.Body, w.Header().Get("Content-Type"))
		}
	})
	t.Run("with its last attempt passes the target's answer on", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(500, "boom")
		wantStatus(t, b.submit("once-a"), 500, "dead")
	})
	t.Run("without an answer is 502, and so is its replay", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(abort)
		for range 2 {
			w := b.submit("once-a", once("k"))
			wantProblem(t, w, 502, problem.TargetFailed)
			wantStatus(t, w, 502, "dead")
		}
	})
	t.Run("by its timeout is 504", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // only then does the server notice that the caller left
			<-r.Context().Done()
		})
		w := b.submit("hasty-a", once("k"))
		wantProblem(t, w, 504, problem.TargetTimeout)
		wantStatus(t, w, 504, "dead")
	})
	t.Run("by a response without content type guesses none", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		})
		server := httptest.NewServer(b.handler)
		defer server.Close()
		response, err := http.Post(server.URL+"/v1/lanes/lane-a/requests", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got, ok := response.Header["Content-Type"]; ok {
			t.Errorf("Content-Type %q", got)
		}
	})
}

func TestAClientThatLeavesCancelsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(b.handler)
	t.Cleanup(server.Close)
	ctx, leave := context.WithCancel(t.Context())
	finished := make(chan struct{})
	b.slots.at(func(verb string, at point) error {
		if verb == "finish" && at == after {
			close(finished)
		}
		return nil
	})
	b.target.next(func(w http.ResponseWriter, r *http.Request) {
		leave()
		// The answer of the target waits until the client is gone.
		<-ctx.Done()
		_, _ = io.WriteString(w, "done anyway")
	})
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/lanes/lane-a/requests", strings.NewReader("payload"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Fatal("the client did not leave")
	}
	<-finished
	w := b.call("POST", "/v1/lanes/lane-a/requests", "payload", once("k"))
	wantStatus(t, w, 200, "done")
	if w.Body.String() != "done anyway" {
		t.Errorf("got %q", w.Body)
	}
}

func TestARunWhoseLeaseIsLost(t *testing.T) {
	t.Parallel()
	t.Run("replays what another grant came to", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.at(func(verb string, at point) error {
			if verb != "finish" || at != before {
				return nil
			}
			b.slots.at(func(string, point) error { return nil })
			b.finish("lane-a", b.takeOver("lane-a"), slot.Accept, `{"status":207}`+"\nby another")
			return nil
		})
		w := b.submit("lane-a", once("k"))
		wantStatus(t, w, 207, "done")
		if w.Body.String() != "by another" || w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("got %q, headers %v", w.Body, w.Header())
		}
	})
	t.Run("is made durable where another grant is under way", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.at(func(verb string, at point) error {
			if verb == "finish" && at == before {
				b.slots.at(func(string, point) error { return nil })
				b.takeOver("lane-a")
			}
			return nil
		})
		w := b.submit("lane-a", once("k"))
		if w.Code != 202 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		got := body[accepted](t, w)
		if _, ok := b.queue.task(got.Ticket, 0); !ok {
			t.Error("acknowledged without a task")
		}
		b.wantConfirmed("lane-a", got)
	})
	t.Run("before the target was called is made durable without a call", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.at(func(verb string, at point) error {
			if verb == "reserve" && at == after {
				b.slots.at(func(string, point) error { return nil })
				b.finish("lane-a", b.takeOver("lane-a"), slot.Retry, "")
				b.clock.advance(25 * time.Second)
			}
			return nil
		})
		got := wantAccepted(t, b.submit("lane-a", once("k")))
		if n := len(b.target.calls()); n != 0 {
			t.Errorf("the target was called %d times under a lost lease", n)
		}
		if _, ok := b.queue.task(got.Ticket, 0); !ok {
			t.Error("acknowledged without a task")
		}
		b.wantConfirmed("lane-a", got)
	})
}

func TestALapsedLeaseInWhosePlaceNobodyIsNeedsConfirm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.slots.at(func(verb string, at point) error {
		if verb == "reserve" && at == after {
			b.slots.at(func(string, point) error { return nil })
			b.lapse("lane-a")
			b.clock.advance(25 * time.Second) // so long stood the instance still
		}
		return nil
	})
	got := wantAccepted(t, b.submit("lane-a"))
	// The confirm deadline is that of the first reserve: the age of the second says nothing.
	b.wantConfirmed("lane-a", got)
	if n := len(b.target.calls()); n != 0 {
		t.Errorf("the target was called %d times under a lapsed lease", n)
	}
}

func TestTheTaskOfARetryFollowsASnooze(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.target.next(func(w http.ResponseWriter, _ *http.Request) {
		// A duplicate makes the ticket's first task, which comes while this runs, and snoozes.
		duplicate := b.submit("lane-a", once("k"))
		got := body[accepted](t, duplicate)
		s, _ := b.inspect("lane-a", "")
		started, err := b.store.Start(context.Background(), b.lane("lane-a"), slot.StartRequest{
			Ticket: got.Ticket, Incarnation: s.Incarnation, Request: got.ID, Owner: "executor", Left: -1, Jitter: 1,
		})
		if err != nil || started.Verdict != slot.Snoozed {
			t.Errorf("start: %v, %v", started.Verdict, err)
		}
		w.WriteHeader(500)
	})
	got := wantAccepted(t, b.submit("lane-a", once("k")))
	s, _ := b.inspect("lane-a", "")
	if _, ok := b.queue.task(got.Ticket, s.Next.K); !ok || s.Next.K != 1 {
		t.Errorf("no task of the snooze count %d that the lane has", s.Next.K)
	}
}

func TestARunThatRedisDoesNotRecordIsUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.slots.at(func(verb string, at point) error {
		if verb == "finish" && at == before {
			b.clock.advance(30 * time.Second) // the patience of the runner ends
			return errCut
		}
		return nil
	})
	w := b.submit("lane-a", once("k"))
	wantProblem(t, w, 503, problem.OutcomeUnknown)
	if n := len(b.target.calls()); n != 1 {
		t.Errorf("the target was called %d times", n)
	}
}

func TestARunLeavesAKickWhereNobodyWillBeThere(t *testing.T) {
	t.Parallel()
	t.Run("for a head that came meanwhile and has been due", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("brief-a")
		wantAccepted(t, b.submit("brief-a"))
		b.waitRedis(20 * time.Millisecond) // its task was due at once: it is late now
		release()
		if kicks := b.queue.of(taskqueue.KindKick); len(kicks) != 1 {
			t.Errorf("%d kicks, want 1", len(kicks))
		}
	})
	t.Run("though that fails, the answer is the run's", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		wait := make(chan *httptest.ResponseRecorder)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			wantAccepted(t, b.submit("lane-a"))
			b.waitRedis(20 * time.Millisecond)
			b.queue.set(refused)
		})
		go func() { wait <- b.submit("lane-a") }()
		wantStatus(t, <-wait, 200, "done")
		if !strings.Contains(b.log.String(), "leaving a kick failed") {
			t.Error("the failure is not in the log")
		}
	})
	t.Run("but not for a lane that is paced by a task in time", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("paced-a")
		wantAccepted(t, b.submit("paced-a"))
		release()
		if kicks := b.queue.of(taskqueue.KindKick); len(kicks) != 0 {
			t.Errorf("%d kicks, want none", len(kicks))
		}
	})
}

// lapse ends the lease of the last reservation.
func (b *bundle) lapse(key string) {
	b.t.Helper()
	short := b.lane(key)
	short.Lease = time.Millisecond
	if _, ok, err := b.store.Renew(context.Background(), short, b.slots.reserved.Load().Grant); err != nil || !ok {
		b.t.Fatalf("shorten the lease: %v, %v", ok, err)
	}
	b.waitRedis(3 * time.Millisecond)
}

// takeOver lets the lease of the last reservation lapse, as if its instance stood still, and starts the ticket elsewhere.
func (b *bundle) takeOver(key string) slot.Grant {
	b.t.Helper()
	b.lapse(key)
	r := b.slots.reserved.Load()
	s, _ := b.inspect(key, "")
	started, err := b.store.Start(context.Background(), b.lane(key), slot.StartRequest{
		Ticket: r.Ticket, Incarnation: r.Incarnation, Request: s.Next.Request, Owner: "another", Jitter: 1,
	})
	if err != nil || started.Verdict != slot.Run {
		b.t.Fatalf("start elsewhere: %v, %v", started.Verdict, err)
	}
	return started.Grant
}

// finish ends a grant that takeOver gave.
func (b *bundle) finish(key string, g slot.Grant, outcome slot.Outcome, response string) {
	b.t.Helper()
	s, _ := b.inspect(key, "")
	f, err := b.store.Finish(context.Background(), b.lane(key), slot.FinishRequest{
		Grant: g, Request: s.Running[0].Request, Outcome: outcome, Response: []byte(response), Jitter: 1,
	})
	if err != nil || f.Verdict != slot.OK {
		b.t.Fatalf("finish elsewhere: %v, %v", f.Verdict, err)
	}
}

// wantConfirmed checks that nobody can give the place of an acknowledged request up.
func (b *bundle) wantConfirmed(key string, a accepted) {
	b.t.Helper()
	gone, err := b.store.Void(context.Background(), b.lane(key), a.ID, a.Ticket, true)
	if err != nil || gone.Verdict != slot.Kept {
		b.t.Errorf("the place of an acknowledged request was given up: %v, %v", gone.Verdict, err)
	}
}
