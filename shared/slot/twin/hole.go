package twin

import (
	"context"
	"slices"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// Confirm is slot.Store.Confirm.
func (s *Store) Confirm(ctx context.Context, l slot.Lane, requestID string, ticket, incarnation int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "confirm", l)
	if err != nil {
		return false, err
	}
	defer s.end(c, l.Policy)
	if c.records[requestID].terminal() {
		return true, nil
	}
	var e *entry
	if !c.absent && incarnation == c.s.inc {
		e = c.open(ticket)
	}
	if e == nil || e.r != requestID {
		return c.without(ConfirmGuards), nil
	}
	e.p = 0
	c.extendForTask()
	c.save()
	return true, nil
}

// Missing is slot.Store.Missing.
func (s *Store) Missing(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return s.settle(ctx, l, h, "")
}

// Settle is slot.Store.Settle.
func (s *Store) Settle(ctx context.Context, l slot.Lane, h slot.Head, status slot.Status) (slot.Looked, error) {
	word := "void"
	if status != "" {
		word = string(status)
	}
	return s.settle(ctx, l, h, word)
}

func (s *Store) settle(ctx context.Context, l slot.Lane, h slot.Head, word string) (slot.Looked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "missing", l)
	if err != nil {
		return slot.Looked{}, err
	}
	out := c.missing(h, word)
	s.end(c, l.Policy)
	return out, nil
}

func (c *call) missing(h slot.Head, word string) slot.Looked {
	t := h.Ticket
	answer := func(v slot.Verdict) slot.Looked { return slot.Looked{Seen: c.seen(true), Verdict: v} }
	var e *entry
	if !c.absent {
		e = c.open(t)
	}
	if e == nil {
		return answer(c.settled(h, word))
	}
	first, _ := c.head()
	unchanged := e.k == int64(h.K) && e.p == 0 && !c.live(t)
	if e.r != h.Request || first != t || !unchanged && !c.without(MissingUnchanged) {
		return answer(slot.Kept)
	}
	if c.s.miss != t || c.s.missk != int64(h.K) {
		c.s.miss, c.s.missk, c.s.missat = t, int64(h.K), c.now
	}
	at := c.s.missat + ms(slot.MissingAfter)
	if h.Seen < at && !c.without(MissingLooksTwice) {
		c.save()
		return slot.Looked{Seen: c.seen(false), Verdict: slot.Again, At: at}
	}
	if word == "" {
		return slot.Looked{Seen: c.seen(false), Verdict: slot.Check}
	}
	c.extendForTask()
	r := c.record(h.Request)
	if word == "void" {
		r.reason, r.detail = "task-missing", "the queue no longer has the task of this request"
		c.voidTicket(t, e, 0)
		c.save()
		return answer(slot.Voided)
	}
	r.status, r.finished, r.durable, r.end = word, c.now, "1", c.now+c.retain
	c.note(journal.Entry{Event: journal.Settle, Ticket: t, Request: h.Request, Reason: word})
	c.resolve(t)
	c.s.prev = 0
	c.wake()
	c.save()
	return answer(slot.AlreadyDone)
}

// settled answers a resend of a Settle, and whoever comes too late.
func (c *call) settled(h slot.Head, word string) slot.Verdict {
	switch r := c.records[h.Request]; {
	case word == "" || c.absent:
		return slot.Kept
	case c.v[h.Ticket]:
		return slot.Voided
	case r != nil && r.status == word:
		return slot.AlreadyDone
	}
	return slot.Kept
}

// Kick is slot.Store.Kick.
func (s *Store) Kick(ctx context.Context, l slot.Lane, incarnation, at int64, owner string) (seq, when int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "kick", l)
	if err != nil {
		return 0, 0, err
	}
	defer s.end(c, l.Policy)
	if c.absent || incarnation != c.s.inc {
		return 0, 0, nil
	}
	at = max(at, c.now)
	if c.s.kickset == 1 && c.s.kickat <= at && !c.without(OneKick) {
		if c.s.kickby == owner {
			return c.s.kickseq, c.s.kickat, nil
		}
		if c.now < c.s.kickat+30000 {
			return 0, 0, nil
		}
	}
	c.s.kickset, c.s.kickseq, c.s.kickat, c.s.kickby = 1, c.s.kickseq+1, at, owner
	c.extendForTask()
	c.save()
	return c.s.kickseq, c.s.kickat, nil
}

// Inspect is slot.Store.Inspect.
func (s *Store) Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "inspect", l)
	if err != nil {
		return slot.State{}, slot.RequestState{}, err
	}
	defer s.end(c, l.Policy)
	return c.inspectLane(l), c.inspectRequest(requestID), nil
}

func (c *call) inspectLane(l slot.Lane) slot.State {
	out := slot.State{
		Seen: c.seen(true), Absent: c.absent, Running: []slot.Running{}, Gate: c.gate(), QuarantineUntil: c.quarantineOfHead(),
		Hold: c.s.hold, Paused: c.s.paused == 1, Resolved: c.s.resolved, NextTicket: c.s.nxt,
		Missing: c.s.miss, Full: c.running() >= int64(l.Concurrency),
	}
	if !c.absent {
		out.Depth, out.Waiting = c.depth(), c.rank(c.s.nxt)
		out.Running = c.listRunning()
	}
	if out.Waiting > 0 {
		out.Last = c.slot(out.Waiting-1, c.s.nxt)
	}
	if h, e := c.head(); h != 0 && e != nil {
		out.HeadNotBefore, out.HeadAttempts, out.HeadRun = e.nb, e.att, c.runAt(h, e)
		out.Stands, out.HeadTarget = c.stands(h, e), e.target
	}
	return out
}

// quarantineOfHead is until when the head waits because Redis was lost.
func (c *call) quarantineOfHead() int64 {
	if h, _ := c.head(); h != 0 {
		return max(c.gen.QuarantineUntil, c.reach(h))
	}
	return c.gen.QuarantineUntil
}

func (c *call) listRunning() []slot.Running {
	tickets := []int64{}
	for t, expiry := range c.l {
		if expiry > c.now {
			tickets = append(tickets, t)
		}
	}
	slices.SortFunc(tickets, func(a, b int64) int {
		if c.l[a] != c.l[b] {
			return int(c.l[a] - c.l[b])
		}
		return int(a - b)
	})
	list := []slot.Running{}
	for _, t := range tickets[:min(len(tickets), slot.RunningListed)] {
		if e := c.q[t]; e != nil {
			list = append(list, slot.Running{Ticket: t, Request: e.r, Started: instant(e.started)})
		}
	}
	return list
}

func (c *call) inspectRequest(id string) slot.RequestState {
	out := slot.RequestState{Record: slot.Record{ID: id, Response: []byte{}}}
	r := c.records[id]
	if id == "" || r == nil {
		return out
	}
	out.Record, out.Known = c.export(id), r.status != ""
	if e := c.open(r.ticket); !c.absent && r.ticket > 0 && e != nil && e.r == id {
		out.Open, out.Live, out.Attempts = true, c.live(r.ticket), e.att
		out.Parked, out.Unknown = e.parked == 1, c.unknown(r.ticket, e)
		if before := c.rank(r.ticket); !out.Live {
			out.Position, out.Slot = before+1, c.slot(before, r.ticket)
		}
	} else if !c.absent && r.ticket < c.s.mark && !c.v[r.ticket] && r.status == string(slot.Open) {
		out.Status = slot.Cancelled // purged: the mark says it, the record does not know yet
	}
	return out
}
