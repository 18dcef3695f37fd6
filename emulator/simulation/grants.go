package simulation

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// reserved sees a RESERVE.
func (o *oracle) reserved(in *instance, l slot.Lane, req slot.ReserveRequest, res slot.Reservation, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s reserve %s: %s t%s", in.name, label(req.ID), res.Verdict, short(res.Ticket))
	r, b := o.request(l.Key, req.ID), o.lane(l.Key)
	o.noticed(b)
	if res.Verdict == slot.Purged {
		// A purge after a loss, or one that Redis has learned of from the marks. Who was sent again after that has a later place.
		l := o.lifeOf(r, res.Ticket)
		if later := res.Ticket < l.place && (r.all > 1 || b.open[l.place] != nil); !later && (l.status == "" || o.lostSince(l.ended)) {
			o.end(r, l, slot.Outcome(slot.Cancelled), 0)
		}
		return
	}
	if res.Ticket == 0 || res.Verdict == slot.Replayed {
		return
	}
	if b.open[res.Ticket] == nil {
		if res.Verdict == slot.Duplicate {
			o.violate(l.Key, "duplicate of t%s, which is not open", short(res.Ticket))
		}
		b.open[res.Ticket] = &ticketBook{request: req.ID, ready: res.Now, late: o.world.late(), adopted: req.Adopt, before: r.placed}
		o.begins(b, r, req, res.Ticket)
	}
	if r.touched = time.Now(); !req.Adopt && req.Submitted.Before(r.arrived) {
		r.arrived = req.Submitted
	}
	if t := b.open[res.Ticket]; res.Verdict != slot.Run && t.fence != 0 && t.expiry > res.Now && b.owners[t.fence] == req.Owner {
		o.violate(l.Key, "I7: reserve of %s, sent again, does not tell its grant", label(req.ID))
	}
	if res.Verdict == slot.Run {
		o.grant(b, l, req.ID, res.Grant, res.Now)
	}
}

// started sees a START.
func (o *oracle) started(in *instance, l slot.Lane, req slot.StartRequest, res slot.Started, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.noticed(o.lane(l.Key))
	if o.world.trace {
		what := fmt.Sprintf("start t%s k%d", short(req.Ticket), req.K)
		if req.Drive != 0 {
			what = fmt.Sprintf("drive t%s", short(req.Drive))
		}
		rest := ""
		switch res.Verdict {
		case slot.Wait:
			rest = fmt.Sprintf(" %s until %s overdue=%t", res.Reason, ahead(res.Until, res.Now), res.Overdue)
		case slot.Snoozed:
			rest = fmt.Sprintf(" %s k%d at %+d", res.Reason, res.K, res.At-res.Now)
		case slot.Run:
			rest = fmt.Sprintf(" fence %s", short(res.Grant.Fence))
		}
		if n := res.Next; n.Ticket != 0 {
			rest += fmt.Sprintf("; head t%s k%d due %s here=%t at %s", short(n.Ticket), n.K, ahead(n.Due, res.Now), n.Here, ahead(n.At, res.Now))
		}
		o.world.note(l.Key, "%s %s left %v: %s%s", in.name, what, req.Left, res.Verdict, rest)
	}
	if res.Verdict == slot.AlreadyDone && res.Status == slot.Cancelled && req.Drive == 0 {
		r, b := o.request(l.Key, req.Request), o.lane(l.Key)
		if lf := o.lifeOf(r, req.Ticket); lf.status == "" && b.purged.After(lf.placed) {
			o.end(r, lf, slot.Outcome(slot.Cancelled), 0) // purged while Redis did not know it
		}
	}
	if res.Verdict == slot.Run {
		id := req.Request
		if req.Drive != 0 {
			id = req.DriveRequest
		}
		o.grant(o.lane(l.Key), l, id, res.Grant, res.Now)
	}
}

// grant checks what a grant must not break: I1, I2 and I3.
func (o *oracle) grant(b *laneBook, l slot.Lane, id string, g slot.Grant, now int64) {
	t := b.open[g.Ticket]
	if t == nil {
		o.violate(b.key, "I2: t%s is granted and not open", short(g.Ticket))
		return
	}
	if g.Fence <= b.fence {
		if t.fence != g.Fence || b.owners[g.Fence] != g.Owner {
			o.violate(b.key, "I1: fence %s is told to two grants", short(g.Fence))
		}
		return // told again
	}
	lf := o.lifeOf(o.request(b.key, id), g.Ticket)
	lf.touched = time.Now()
	if o.world.unnoticed() {
		b.blind[g.Fence] = true
		b.fence, b.owners[g.Fence], t.fence, t.expiry = g.Fence, g.Owner, g.Fence, g.Expiry
		return
	}
	if b.held {
		o.violate(b.key, "pause: t%s is granted on a paused lane", short(g.Ticket))
	}
	o.targets(b, g)
	o.exclusion(b, l, g, now)
	o.sequence(b, id, lf, g, now)
	possible := max(t.ready, b.event, t.expiry, b.gate(l, o.world.Change != nil))
	o.pace(b, l, now)
	o.idles = append(o.idles, time.Duration(max(0, now-possible))*time.Millisecond)
	if idle := time.Duration(now-possible) * time.Millisecond; idle > o.idle {
		o.idle = idle
		o.world.note(b.key, "longest idle so far: %v", idle)
	}
	b.fence, b.owners[g.Fence], b.event, b.last = g.Fence, g.Owner, now, now
	t.fence, t.expiry = g.Fence, g.Expiry
}

func (o *oracle) exclusion(b *laneBook, l slot.Lane, g slot.Grant, now int64) {
	leases := map[int64]int64{}
	for ticket, t := range b.open {
		if t.fence != 0 && !b.blind[t.fence] {
			leases[ticket] = t.expiry
		}
	}
	for ticket, expiry := range b.shadows {
		leases[ticket] = max(leases[ticket], expiry)
	}
	live := 0
	for ticket, expiry := range leases {
		if expiry > now {
			live++
			if ticket == g.Ticket {
				o.violate(b.key, "I1: t%s has a live lease and gets another", short(ticket))
			}
		}
	}
	if live >= l.Concurrency {
		o.violate(b.key, "I1: t%s is granted beside %d live leases", short(g.Ticket), live)
	}
}

func (o *oracle) sequence(b *laneBook, id string, r *life, g slot.Grant, now int64) {
	for ticket, t := range b.open {
		if ticket < g.Ticket && (t.fence == 0 || t.expiry <= now) {
			o.violate(b.key, "I2: t%s is granted before t%s, which waits", short(g.Ticket), short(ticket))
		}
	}
	if r.started {
		return
	}
	r.started = true
	for _, a := range o.order {
		if a.lane != b.key || a.started || a.status != "" || a.acked.IsZero() || !a.acked.Before(r.arrived) {
			continue
		}
		if window := o.excuse(b.key, a.life, r); window != "" {
			o.except(window, b.key, "%s starts before %s", label(id), label(a.id))
		} else {
			o.violate(b.key, "I2: %s starts before %s, which was acknowledged before it arrived", label(id), label(a.id))
		}
	}
}

// gate is from when pace allows the next grant. Where the policy changes only the last grant tells.
func (b *laneBook) gate(l slot.Lane, changes bool) int64 {
	if changes {
		return b.last + l.Spacing.Milliseconds()
	}
	return b.tat - int64(l.Burst-1)*l.Spacing.Milliseconds()
}

func (o *oracle) pace(b *laneBook, l slot.Lane, now int64) {
	spacing := l.Spacing.Milliseconds()
	if o.world.Change != nil { // only the spacing of the call is known
		if b.last != 0 && l.Burst == 1 && now < b.last+spacing {
			o.violate(b.key, "I3: a grant %d ms after the last, spacing %v", now-b.last, l.Spacing)
		}
		return
	}
	if gate := b.tat - int64(l.Burst-1)*spacing; now < gate {
		o.violate(b.key, "I3: a grant %d ms before the gate", gate-now)
	}
	b.tat = max(b.tat, now) + spacing
}

// ending sees an ENDING: it renews a live lease.
func (o *oracle) ending(l slot.Lane, req slot.FinishRequest, res slot.Ending, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now().UnixMilli()
	if t := o.lane(l.Key).open[req.Grant.Ticket]; err == nil && res.Verdict == slot.OK && t != nil && t.fence == req.Grant.Fence && t.expiry > now {
		t.expiry = now + l.Lease.Milliseconds()
	}
}

// renewed sees a RENEW.
func (o *oracle) renewed(in *instance, l slot.Lane, g slot.Grant, expiry int64, ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s renew t%s: %t", in.name, short(g.Ticket), ok)
	if !ok {
		return
	}
	t := o.lane(l.Key).open[g.Ticket]
	if t == nil || t.fence != g.Fence || t.expiry <= expiry-l.Lease.Milliseconds() {
		o.violate(l.Key, "I1: renew of t%s revives a lease", short(g.Ticket))
		return
	}
	t.expiry = expiry
}
