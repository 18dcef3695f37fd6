package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestAnAcknowledgementNeedsAYoungTaskOrConfirm(t *testing.T) {
	t.Parallel()
	slow := func(b *bundle, age time.Duration, meanwhile func(taskqueue.Task)) {
		b.queue.set(func(task taskqueue.Task, exist func()) error {
			b.queue.set(nil)
			exist()
			b.clock.advance(age)
			meanwhile(task)
			return nil
		})
	}
	nothing := func(taskqueue.Task) {}
	// giveUp is what a driver does past the deadline, when the queue denied the task before it landed.
	giveUp := func(b *bundle) func(taskqueue.Task) {
		return func(task taskqueue.Task) {
			e := task.Envelope
			gone, err := b.store.Void(context.Background(), b.lane(e.Key), e.ID, e.Ticket, true)
			if err != nil || gone.Verdict != slot.Voided {
				b.t.Errorf("void: %v, %v", gone.Verdict, err)
			}
		}
	}
	t.Run("a young one is not confirmed: one call less", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		slow(b, slot.ConfirmWithin-slot.ConfirmMargin-time.Second, nothing)
		wantAccepted(t, b.submit("lane-a", async))
		if s, _ := b.inspect("lane-a", ""); !s.Next.Unconfirmed() {
			t.Error("confirmed without need")
		}
	})
	t.Run("an old one is confirmed", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		slow(b, slot.ConfirmWithin-slot.ConfirmMargin, nothing)
		b.wantConfirmed("lane-a", wantAccepted(t, b.submit("lane-a", async)))
	})
	t.Run("an old one whose place was given up gets a new one", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var first int64
		slow(b, slot.ConfirmWithin, func(task taskqueue.Task) { first = task.Envelope.Ticket; giveUp(b)(task) })
		got := wantAccepted(t, b.submit("lane-a", async, once("k")))
		if got.Ticket <= first {
			t.Errorf("ticket %d, want one above the %d that was given up", got.Ticket, first)
		}
		if _, ok := b.queue.task(got.Ticket, 0); !ok {
			t.Error("acknowledged without a task of the new ticket")
		}
	})
	t.Run("a new one is the queue's, though the lane has become idle: the first task may come any time", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("lane-a")
		slow(b, slot.ConfirmWithin, func(task taskqueue.Task) { giveUp(b)(task); release() })
		wantAccepted(t, b.submit("lane-a"))
		if n := len(b.target.calls()); n != 1 {
			t.Errorf("the target was called %d times, want once, for the other request", n)
		}
	})
	t.Run("after four places given up it is unknown", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.set(func(task taskqueue.Task, exist func()) error {
			exist()
			b.clock.advance(slot.ConfirmWithin)
			giveUp(b)(task)
			return nil
		})
		wantProblem(t, b.submit("lane-a", async), 503, problem.OutcomeUnknown)
		if n := b.queue.count(); n != 4 {
			t.Errorf("%d tasks, want 4", n)
		}
	})
	t.Run("a duplicate is confirmed however young it is", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.set(vanished)
		b.submit("lane-a", async, once("k"))
		slow(b, 0, giveUp(b)) // J's own age says nothing of the deadline that I's reserve set
		got := wantAccepted(t, b.submit("lane-a", async, once("k")))
		if tasks := b.queue.of(taskqueue.KindRequest); len(tasks) != 2 {
			t.Errorf("%d tasks, want that of the place given up and that of the new one", len(tasks))
		}
		if _, request := b.inspect("lane-a", got.ID); !request.Open {
			t.Error("acknowledged a place that was given up")
		}
	})
	t.Run("a retried run counts its age from its finish", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			b.clock.advance(time.Minute) // the handler takes longer than the deadline
			w.WriteHeader(500)
		})
		wantAccepted(t, b.submit("lane-a"))
		if s, _ := b.inspect("lane-a", ""); !s.Next.Unconfirmed() {
			t.Error("confirmed without need")
		}
	})
	t.Run("a retried run that takes long to queue is confirmed", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(500, "boom")
		slow(b, slot.ConfirmWithin, nothing)
		b.wantConfirmed("lane-a", wantAccepted(t, b.submit("lane-a")))
	})
	t.Run("where Redis does not confirm it is unknown", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		slow(b, slot.ConfirmWithin, nothing)
		b.slots.cut("confirm", before)
		wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.OutcomeUnknown)
		got := wantAccepted(t, b.submit("lane-a", async, once("k")))
		b.wantConfirmed("lane-a", got)
	})
}

func TestRedisOutOfReach(t *testing.T) {
	t.Parallel()
	t.Run("before anything began is unavailable, everywhere", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.at(func(string, point) error { return errCut })
		id := idempotency.RequestID("lane-a", "k")
		wantProblem(t, b.submit("lane-a"), 503, problem.Unavailable)
		wantProblem(t, b.get("/v1/lanes/lane-a"), 503, problem.Unavailable)
		wantProblem(t, b.get("/v1/lanes/lane-a/requests/"+id), 503, problem.Unavailable)
		wantProblem(t, b.get("/v1/lanes/lane-a/requests/"+id+"/result"), 503, problem.Unavailable)
		if b.queue.count() != 0 || len(b.target.calls()) != 0 {
			t.Error("something began")
		}
	})
	t.Run("when the reply of reserve is lost leaves a place that the next try takes over", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.cut("reserve", after)
		wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.Unavailable)
		got := wantAccepted(t, b.submit("lane-a", async, once("k")))
		if _, ok := b.queue.task(got.Ticket, 0); !ok || got.Position != 1 {
			t.Errorf("got %+v, want the first place, with a task", got)
		}
		b.wantConfirmed("lane-a", got)
	})
	t.Run("in a second try is unknown, since the first has a task", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.set(func(task taskqueue.Task, exist func()) error {
			exist()
			b.clock.advance(slot.ConfirmWithin)
			_, err := b.store.Void(context.Background(), b.lane("lane-a"), task.Envelope.ID, task.Envelope.Ticket, true)
			b.slots.cut("reserve", before)
			return err
		})
		wantProblem(t, b.submit("lane-a", async), 503, problem.OutcomeUnknown)
	})
	for _, err := range []error{slot.ErrGeneration, slot.ErrFormat} {
		t.Run(fmt.Sprintf("in the sense of %q is unavailable", err), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.slots.at(func(string, point) error { return fmt.Errorf("reserve: %w", err) })
			wantProblem(t, b.submit("lane-a"), 503, problem.Unavailable)
		})
	}
	t.Run("but an answer that cannot be read is our own fault", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.slots.at(func(string, point) error { return slot.ErrReply })
		wantProblem(t, b.submit("lane-a"), 500, problem.Internal)
	})
}
