package ingest_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

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

// What may have run stays: not even a queue that takes no task gives its place up, and no answer asks for another request.
func TestARunThatIsCutOffWithItsLeaseIsUnknown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		b.target.next(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the caller hangs up
			b.lapse("holds-a")                 // Redis was away for longer than the lease
			<-r.Context().Done()
		})
		b.queue.set(refused)
		wantProblem(t, b.submit("holds-a", once("k")), 503, problem.OutcomeUnknown)
		b.queue.set(nil)
		wantStatus(t, b.submit("holds-a", once("k")), 202, "unknown")
		if n := len(b.target.calls()); n != 1 {
			t.Errorf("%d runs, want one: the first may have had its effect", n)
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
	return b.startElsewhere(key)
}

// startElsewhere has another instance start the head.
func (b *bundle) startElsewhere(key string) slot.Grant {
	b.t.Helper()
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
