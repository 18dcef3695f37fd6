package slottest

import (
	"fmt"

	"github.com/seriatim/seriatim/shared/slot"
)

// steer is an operator's or a client's hand on the lane: pause, resume, cancel, purge.
func (w *World) steer() error {
	if !w.Steering {
		return nil
	}
	switch w.pick(6) {
	case 0, 1:
		return w.pause(true)
	case 2, 3:
		return w.pause(false)
	case 4:
		return w.purge()
	}
	return w.cancel(fmt.Sprintf("r%d", w.pick(w.Requests)))
}

func (w *World) pause(hold bool) error {
	_, err := call(w, func() (slot.Seen, error) { return w.store.Pause(w.ctx, w.lane, hold) },
		func(slot.Seen) { w.oracle.Paused(hold) })
	return err
}

func (w *World) purge() error {
	_, err := call(w, func() (int64, error) { return w.store.Purge(w.ctx, w.lane) },
		func(int64) { w.oracle.Purged(w.clock.Now()) })
	return err
}

func (w *World) cancel(id string) error {
	_, err := call(w, func() (slot.Cancelling, error) { return w.store.Cancel(w.ctx, w.lane, id) },
		func(res slot.Cancelling) { w.oracle.Cancelled(id, res) })
	return err
}

// Paused shows that the lane is held, or goes on.
func (o *Oracle) Paused(hold bool) { o.held = hold }

// Purged shows that all that waits was cancelled at the Redis instant now.
func (o *Oracle) Purged(now int64) {
	for _, t := range o.tickets {
		if !t.resolved && t.expiry <= now {
			t.resolved, t.cancelled = true, true
			o.cancels(t.request)
		}
	}
}

// Cancelled shows an answer of Cancel.
func (o *Oracle) Cancelled(id string, res slot.Cancelling) {
	t := o.tickets[res.Ticket]
	switch {
	case res.Verdict == slot.StillRunning && (t == nil || t.resolved || t.expiry <= res.Now):
		o.broken("cancel", "%s is said to run", id)
	case res.Verdict != slot.OK || t == nil:
	case !t.resolved && t.expiry > res.Now:
		o.broken("I1 exclusion", "ticket %d of %s is cancelled while its lease lives", res.Ticket, id)
	default:
		t.resolved, t.cancelled = true, true
		o.cancels(id)
	}
}

// cancels ends a request without a result; its id is free again.
func (o *Oracle) cancels(id string) {
	if r := o.requests[id]; r.status == slot.Open {
		r.status = slot.Cancelled
	}
}

// comesAgain is what a new ticket makes of a request that was cancelled.
func (o *Oracle) comesAgain(r *request) {
	o.events++
	*r = request{arrived: o.events, status: slot.Open, lost: r.lost}
}
