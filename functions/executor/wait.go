package executor

import (
	"context"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
)

// waiter waits inline for the own ticket's turn, at most InlineWait in all.
type waiter struct {
	*delivery
	end      time.Time
	listener *slot.Listener
}

func newWaiter(d *delivery) *waiter { return &waiter{delivery: d, end: d.began.Add(slot.InlineWait)} }

func (w *waiter) left() time.Duration { return max(0, w.end.Sub(w.Clock.Now())) }

func (w *waiter) close() {
	if w.listener != nil {
		w.listener.Close()
	}
}

// wait returns when START should be asked again.
func (w *waiter) wait(ctx context.Context, view lane.View, v slot.Started) {
	until := w.look(view, v)
	if v.Reason == "pace" {
		// The head's own waiter, and only the clock is in its way: no message needed.
		w.sleep(ctx, until, nil)
		return
	}
	if w.listener == nil {
		w.listener = w.Wakes.Listen(w.env.Key, w.env.Ticket)
	}
	if wake, ok := w.sleep(ctx, until, w.listener.C); ok && wake.At > view.Now {
		w.sleep(ctx, view.Local(wake.At), nil)
	}
}

// look is when to look again without a wake-up: at the gate when the ticket is next, often when it waits for a run to end,
// half-way to its slot when others are before it.
func (w *waiter) look(view lane.View, v slot.Started) time.Time {
	var at time.Time
	switch {
	case v.Reason == "pace":
		at = view.Local(v.Until)
	case v.Rank == 0 && v.Reason != "busy":
		at = view.Received.Add(slot.Poll)
	default:
		half := view.Until(v.Until)/2 + slot.Grace
		at = view.Received.Add(time.Duration(float64(half) * w.Random.Jitter(0.1)))
	}
	if at.After(w.end) {
		return w.end
	}
	return at
}

// sleep returns at the instant, at a wake-up, or when the delivery has to end.
func (w *waiter) sleep(ctx context.Context, until time.Time, wakes <-chan slot.Wakeup) (slot.Wakeup, bool) {
	fired, stop := w.Clock.After(until.Sub(w.Clock.Now()))
	defer stop()
	select {
	case wake := <-wakes:
		return wake, true
	case <-fired:
	case <-w.Drain.Closed():
	case <-ctx.Done():
	}
	return slot.Wakeup{}, false
}
