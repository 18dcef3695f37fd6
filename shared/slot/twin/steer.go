package twin

import (
	"context"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// Cancel is slot.Store.Cancel.
func (s *Store) Cancel(ctx context.Context, l slot.Lane, requestID string) (slot.Cancelling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "cancel", l)
	if err != nil {
		return slot.Cancelling{}, err
	}
	defer s.end(c, l.Policy)
	return c.cancel(requestID), nil
}

func (c *call) cancel(id string) slot.Cancelling {
	r := c.records[id]
	if r == nil || r.status == "" {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.None}
	}
	t := r.ticket
	switch slot.Status(r.status) {
	case slot.Cancelled:
		return slot.Cancelling{Seen: c.seen(true), Verdict: slot.OK, Ticket: t}
	case slot.Open:
	default:
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.AlreadyFinished, Status: slot.Status(r.status)}
	}
	e := c.openOf(id, r)
	switch {
	case e == nil && (c.absent || t >= c.s.mark):
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.None}
	case e == nil: // purged
	case c.live(t):
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.StillRunning, Ticket: t}
	case c.unknown(t, e):
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.OutcomeUnknown, Ticket: t}
	default:
		if e.parked == 1 {
			c.afresh()
		}
		c.note(journal.Entry{Event: journal.Cancel, Ticket: t, Request: id})
		c.resolve(t)
		c.wake()
	}
	delete(c.bodies, id)
	c.finished(r, id, t, slot.Cancelled)
	c.extendForTask()
	c.save()
	return slot.Cancelling{Seen: c.seen(true), Verdict: slot.OK, Ticket: t}
}

// openOf is the entry of the request's open ticket, nil for none.
func (c *call) openOf(id string, r *record) *entry {
	if c.absent {
		return nil
	}
	if e := c.open(r.ticket); e != nil && e.r == id {
		return e
	}
	return nil
}

// Resolve is slot.Store.Resolve.
func (s *Store) Resolve(ctx context.Context, l slot.Lane, requestID string, as slot.Resolution, owner string) (slot.Cancelling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "resolve", l)
	if err != nil {
		return slot.Cancelling{}, err
	}
	defer s.end(c, l.Policy)
	return c.settleHead(requestID, as, owner), nil
}

func (c *call) settleHead(id string, as slot.Resolution, owner string) slot.Cancelling {
	r := c.records[id]
	if r == nil || r.status == "" {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.None}
	}
	t := r.ticket
	if r.steered == owner {
		return slot.Cancelling{Seen: c.seen(true), Verdict: slot.OK, Ticket: t, Status: slot.Status(r.status)}
	}
	if r.status != string(slot.Open) {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.AlreadyFinished, Status: slot.Status(r.status)}
	}
	e := c.openOf(id, r)
	if e == nil {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.None}
	}
	if c.live(t) {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.StillRunning, Ticket: t}
	}
	ofParked := as == slot.Redrive || as == slot.Skip
	if ofParked && e.parked == 0 || !ofParked && !c.unknown(t, e) {
		return slot.Cancelling{Seen: c.seen(false), Verdict: slot.Kept, Ticket: t}
	}
	r.steered = owner
	note := journal.Entry{Event: journal.Resolve, Ticket: t, Request: id, Reason: string(as)}
	if ofParked {
		note.Event, note.Reason = journal.Event(as), ""
	}
	c.note(note)
	c.settleAs(t, e, r, as)
	c.afresh()
	c.extendForTask()
	c.wake()
	c.save()
	return slot.Cancelling{Seen: c.seen(true), Verdict: slot.OK, Ticket: t, Status: slot.Status(r.status)}
}

func (c *call) settleAs(t int64, e *entry, r *record, as slot.Resolution) {
	switch as {
	case slot.Redrive, slot.ResolveRetry:
		e.parked, e.fence, e.owner, e.nb = 0, 0, "", 0
		if as == slot.Redrive {
			e.spared, e.first = e.att, 0
		}
		c.s.fails = 0
		if !c.adopted(t) {
			c.l[t] = 0
		}
		return
	case slot.ResolveDone:
		c.finished(r, e.r, t, slot.Done)
	default:
		c.finished(r, e.r, t, slot.Dead)
	}
	r.durable = "0"
	if b, ok := c.bodies[e.r]; ok && as == slot.Skip {
		c.bodies[e.r] = body{b.text, r.end}
	}
	if as != slot.Skip {
		delete(c.bodies, e.r)
		r.reason, r.detail = "resolved", "an operator said so"
	}
	c.resolve(t)
}

// Pause is slot.Store.Pause.
func (s *Store) Pause(ctx context.Context, l slot.Lane, hold bool) (slot.Seen, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "pause", l)
	if err != nil {
		return slot.Seen{}, err
	}
	defer s.end(c, l.Policy)
	if c.absent && !hold && !c.restoring() {
		return c.seen(false), nil
	}
	c.begin()
	if c.s.paused == 1 && !hold {
		c.afresh()
	}
	c.hold(hold)
	c.extendForTask()
	c.wake()
	c.save()
	return c.seen(true), nil
}

// hold pauses the lane, or lets it go on.
func (c *call) hold(hold bool) {
	paused, event := int64(0), journal.Resume
	if hold {
		paused, event = 1, journal.Pause
	}
	if c.s.paused != paused {
		c.note(journal.Entry{Event: event})
	}
	c.s.paused = paused
}

// Purge is slot.Store.Purge.
func (s *Store) Purge(ctx context.Context, l slot.Lane) (slot.Purging, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "purge", l)
	if err != nil {
		return slot.Purging{}, err
	}
	defer s.end(c, l.Policy)
	if c.absent && !c.restoring() {
		return slot.Purging{}, nil
	}
	c.begin()
	purged := c.depth() - c.running()
	if purged > 0 || c.s.mark != c.s.nxt {
		c.note(journal.Entry{Event: journal.Purge, Ticket: c.s.nxt})
	}
	c.purgeTo(c.s.nxt)
	c.s.resolved += purged
	c.extendForTask()
	c.save()
	return slot.Purging{Requests: purged, Below: c.s.mark}, nil
}

// Extend is slot.Store.Extend.
func (s *Store) Extend(ctx context.Context, l slot.Lane, horizon int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "horizon", l)
	if err != nil || c.absent {
		return err
	}
	c.s.horizon = max(c.s.horizon, horizon)
	c.save()
	return nil
}
