package twin

import (
	"context"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// Reserve is slot.Store.Reserve.
func (s *Store) Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "reserve", l)
	if err != nil {
		return slot.Reservation{}, err
	}
	res := c.reserve(l, req)
	s.end(c, l.Policy)
	return res, nil
}

func (c *call) reserve(l slot.Lane, req slot.ReserveRequest) slot.Reservation {
	r := c.records[req.ID]
	if r != nil && (r.status == string(slot.Done) || r.status == string(slot.Dead) && !req.Redrive || r.cancelledFor(req)) {
		if r.fp != req.Fingerprint {
			return slot.Reservation{Seen: c.seen(false), Verdict: slot.Mismatch}
		}
		return slot.Reservation{Seen: c.seen(false), Verdict: slot.Replayed, Ticket: r.ticket, Record: c.export(req.ID)}
	}
	if r != nil && r.status == string(slot.Open) && r.ticket > 0 && !c.absent {
		if e := c.open(r.ticket); e != nil && e.r == req.ID {
			return c.reservedBefore(r, e, req)
		}
	}
	c.begin()
	if req.Adopt && req.Ticket > 0 && req.Ticket < c.s.mark {
		return c.purged(req)
	}
	t := c.s.nxt
	if c.keeps(req) {
		t = req.Ticket
	}
	waiting := c.rank(t)
	at := c.slot(waiting, t)
	if refused, full := c.full(l, req, at); full {
		return refused
	}
	return c.take(req, t, waiting, at)
}

// cancelledFor says that the request was cancelled while the call was on its way, or with the ticket of the task that comes.
func (r *record) cancelledFor(req slot.ReserveRequest) bool {
	return r.status == string(slot.Cancelled) && !req.Redrive && (req.Adopt && r.ticket >= req.Ticket || r.owner == req.Owner)
}

// keeps says that an adopted request keeps its number.
func (c *call) keeps(req slot.ReserveRequest) bool {
	t := req.Ticket
	return req.Adopt && t > 0 && (t < c.s.inc || c.gapOf(t) != 0) && c.q[t] == nil && !c.v[t] && !c.without(AdoptedKeepsTicket)
}

// purged ends a request to be adopted, whose lane was purged since it took its ticket.
func (c *call) purged(req slot.ReserveRequest) slot.Reservation {
	r := c.record(req.ID)
	r.fp, r.ticket, r.submitted, r.target = req.Fingerprint, req.Ticket, req.Submitted.UnixMilli(), req.Target
	c.finished(r, req.ID, req.Ticket, slot.Cancelled)
	c.extendForTask()
	c.save()
	return slot.Reservation{Seen: c.seen(false), Verdict: slot.Purged, Ticket: req.Ticket}
}

// young says that Redis was lost less than a retention ago.
func (c *call) young() bool {
	return c.restoring() && c.s.lost > 0 && c.now < c.s.lost+c.retain && !c.without(YoungLooksUp)
}

// reservedBefore answers for a request that has an open ticket.
func (c *call) reservedBefore(r *record, e *entry, req slot.ReserveRequest) slot.Reservation {
	if r.fp != req.Fingerprint {
		return slot.Reservation{Seen: c.seen(false), Verdict: slot.Mismatch}
	}
	t := r.ticket
	leased := c.live(t)
	if leased && e.owner == req.Owner && !c.without(ResendOfGrant) {
		return c.granted(t, e, req.Owner)
	}
	c.extendForTask()
	r.end = c.s.end
	c.save()
	before := c.rank(t)
	out := slot.Reservation{
		Seen: c.seen(false), Verdict: slot.Duplicate, Ticket: t, Slot: c.slot(before, t), Position: before + 1, Due: e.due,
		Young: c.young(),
	}
	if leased {
		out.Due = max(e.due, c.l[t])
	}
	out.Unknown = c.unknown(t, e)
	if r.owner == req.Owner {
		out.Verdict = slot.Reserved
		return out
	}
	out.Confirmed, out.Leased = e.p == 0 || c.without(DuplicateUnconfirmed), leased
	return out
}

// full refuses what the limits do.
func (c *call) full(l slot.Lane, req slot.ReserveRequest, at int64) (slot.Reservation, bool) {
	if req.Adopt {
		return slot.Reservation{}, false
	}
	out := slot.Reservation{Seen: c.seen(false), Verdict: slot.Full, Depth: c.depth()}
	horizon := ms(slot.Horizon)
	switch {
	case out.Depth >= int64(l.MaxDepth):
		out.Reason, out.RetryAfter = "depth", time.Duration(whole(max(c.interval(), float64(c.spacing))))*time.Millisecond
	case at-c.now > horizon:
		out.Reason, out.RetryAfter = "horizon", time.Duration(at-c.now-horizon)*time.Millisecond
	case !req.Deadline.IsZero() && at > req.Deadline.UnixMilli():
		out.Reason, out.Slot = "deadline", at
	default:
		return slot.Reservation{}, false
	}
	return out, true
}

// take gives the request ticket t.
func (c *call) take(req slot.ReserveRequest, t, waiting, at int64) slot.Reservation {
	h, _ := c.head()
	atOnce := req.Immediate && (h == 0 || c.without(NoOvertaking)) && c.capacity() && c.now >= c.runAt(t, nil)
	r := c.record(req.ID)
	ran := int64(0)
	if r.status == string(slot.Open) || r.status == string(slot.Cancelled) {
		ran = r.attempts
	}
	*r = record{
		status: string(slot.Open), fp: req.Fingerprint, ticket: t, owner: req.Owner, submitted: req.Submitted.UnixMilli(),
		target: req.Target, end: r.end, attempts: ran,
	}
	if h == 0 && c.running() < c.n {
		c.afresh()
	}
	delete(c.bodies, req.ID)
	e := &entry{r: req.ID, p: c.now + ms(slot.ConfirmWithin), target: req.Target, att: ran, spared: ran}
	note := journal.Entry{Event: journal.Reserve, Ticket: t, Request: req.ID, Attempt: ran}
	switch {
	case t != c.s.nxt:
		add(&c.o, t)
		if t >= c.s.inc {
			e.k = int64(req.K)
		}
		note.Event, note.K = journal.Adopt, e.k
	case !c.without(TicketsGrow):
		c.s.nxt = t + 1
	}
	if req.Adopt && strings.Contains(","+c.s.parked, ","+number(t)+",") {
		e.parked = 1
		note.Reason = string(journal.Park)
	}
	c.note(note)
	if !req.Deadline.IsZero() {
		e.deadline = req.Deadline.UnixMilli()
	}
	if atOnce && c.stands(t, e) == "" {
		if c.without(FastTicketUnconfirmed) {
			e.p = 0
		}
		c.grant(t, e, req.Owner, r)
		c.extend(c.now + max(c.retain, longest) + 60000)
		r.end = c.s.end
		c.save()
		return c.granted(t, e, req.Owner)
	}
	c.q[t] = e
	e.due = max(c.now, c.backstop(t, waiting, false))
	if e.deadline > 0 {
		e.due = min(e.due, e.deadline+1)
	}
	c.extendForTask()
	r.end = c.s.end
	c.save()
	return slot.Reservation{
		Seen: c.seen(false), Verdict: slot.Reserved, Ticket: t, Slot: at, Position: waiting + 1, Due: e.due, Young: c.young(),
	}
}

func (c *call) granted(t int64, e *entry, owner string) slot.Reservation {
	return slot.Reservation{Seen: c.seen(false), Verdict: slot.Run, Ticket: t, Grant: c.grantOf(t, e, owner), Young: c.young()}
}

func (c *call) grantOf(t int64, e *entry, owner string) slot.Grant {
	return slot.Grant{
		Ticket: t, Fence: e.fence, Expiry: c.l[t], Attempt: e.att, K: int(e.k), Owner: owner,
		Slip: time.Duration(e.slip) * time.Millisecond,
	}
}

// export is the record as Reserve, Finish and Inspect tell it.
func (c *call) export(id string) slot.Record {
	r := c.records[id]
	if r == nil { // expired, or deleted by hand
		r = &record{}
	}
	return slot.Record{
		ID: id, Status: slot.Status(r.status), Fingerprint: r.fp, Ticket: r.ticket, Fence: r.fence, Attempts: r.attempts,
		Response: []byte(c.bodies[id].text), Reason: r.reason, Detail: r.detail, Target: r.target, Durable: r.durable == "1",
		Submitted: instant(r.submitted), Started: instant(r.started), Finished: instant(r.finished),
	}
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
