package slottest

import (
	"fmt"

	"github.com/seriatim/seriatim/shared/slot"
)

// steer is an operator's or a client's hand on the lane: pause, resume, cancel, purge, and what settles a head on which it
// stands.
func (w *World) steer() error {
	if !w.Steering {
		return nil
	}
	switch w.pick(9) {
	case 0, 1:
		return w.pause(true)
	case 2, 3:
		return w.pause(false)
	case 4:
		return w.purge()
	case 5, 6, 7:
		return w.resolve([]slot.Resolution{slot.Redrive, slot.Skip, slot.ResolveRetry, slot.ResolveDone, slot.ResolveDead}[w.pick(5)])
	}
	if id := w.state.Next.Request; id != "" && w.chance(2) {
		return w.cancel(id)
	}
	return w.cancel(fmt.Sprintf("r%d", w.pick(w.Requests)))
}

func (w *World) pause(hold bool) error {
	_, err := call(w, func() (slot.Seen, error) { return w.store.Pause(w.ctx, w.lane, hold) },
		func(slot.Seen) { w.oracle.Paused(hold) })
	return err
}

func (w *World) purge() error {
	_, err := call(w, func() (slot.Purging, error) { return w.store.Purge(w.ctx, w.lane) },
		func(slot.Purging) { w.oracle.Purged(w.clock.Now()) })
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
	case res.Verdict == slot.OK && t != nil && !t.resolved && o.lane.HoldAmbiguous && t.expiry != 0 && t.expiry <= res.Now:
		o.broken("stand", "%s is cancelled, and may have run", id)
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

// unstand has an operator settle a head on which the lane stands.
func (w *World) unstand() (err error) {
	if w.state, _, err = w.store.Inspect(w.ctx, w.lane, ""); err != nil {
		return err
	}
	switch w.state.Stands {
	case slot.StandsParked:
		return w.resolve(slot.Redrive)
	case slot.StandsUnknown:
		return w.resolve(slot.ResolveRetry)
	}
	return nil
}

// resolve settles the head as last looked at.
func (w *World) resolve(as slot.Resolution) error {
	id, owner := w.state.Next.Request, w.owner()
	if id == "" {
		return nil
	}
	_, err := call(w, func() (slot.Cancelling, error) { return w.store.Resolve(w.ctx, w.lane, id, as, owner) },
		func(res slot.Cancelling) { w.oracle.Settled(id, as, owner, res) })
	return err
}

// Settled shows an answer of Resolve.
func (o *Oracle) Settled(id string, as slot.Resolution, owner string, res slot.Cancelling) {
	t, r := o.tickets[res.Ticket], o.requests[id]
	if res.Verdict != slot.OK || t.settledBy == owner {
		return // a resend, or nothing
	}
	lapsed := o.lane.HoldAmbiguous && t.expiry != 0 && t.expiry <= res.Now
	if ofParked := as == slot.Redrive || as == slot.Skip; t.resolved || ofParked && !t.parked || !ofParked && !lapsed {
		o.broken("stand", "%s ends the wait of ticket %d, parked %t, lapsed %t, resolved %t", as, res.Ticket, t.parked, lapsed, t.resolved)
	}
	t.parked, t.expiry, t.settledBy = false, 0, owner
	if as == slot.Redrive || as == slot.ResolveRetry {
		return
	}
	if as != slot.Skip {
		r.response = nil
	}
	t.resolved, r.status, r.fence = true, res.Status, t.fence
}
