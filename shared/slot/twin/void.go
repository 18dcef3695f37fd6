package twin

import (
	"context"

	"github.com/seriatim/seriatim/shared/slot"
)

// Void is slot.Store.Void.
func (s *Store) Void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool) (slot.Looked, error) {
	return s.void(ctx, l, requestID, ticket, atOnce, 0, 0)
}

// GiveUp is slot.Store.GiveUp.
func (s *Store) GiveUp(ctx context.Context, l slot.Lane, requestID string, ticket, fence int64) (slot.Looked, error) {
	return s.void(ctx, l, requestID, ticket, true, 0, fence)
}

// VoidHead is slot.Store.VoidHead.
func (s *Store) VoidHead(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return s.void(ctx, l, h.Request, h.Ticket, false, h.Seen, 0)
}

func (s *Store) void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool, seen, fence int64) (slot.Looked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "void", l)
	if err != nil {
		return slot.Looked{}, err
	}
	verdict := c.void(requestID, ticket, atOnce, seen, fence)
	s.end(c, l.Policy)
	return slot.Looked{Seen: c.seen(true), Verdict: verdict}, nil
}

func (c *call) void(id string, t int64, atOnce bool, looked, fence int64) slot.Verdict {
	if looked == 0 {
		looked = c.now
	}
	var e *entry
	if !c.absent {
		e = c.open(t)
	}
	if e == nil {
		if !c.absent && c.v[t] {
			return slot.Voided
		}
		return slot.Kept
	}
	unused := fence > 0 && e.fence == fence && e.att == 1
	if e.r != id || e.p == 0 && !c.without(VoidUnconfirmedOnly) || c.live(t) && !unused && !c.without(VoidNotLeased) ||
		c.unknown(t, e) && !unused {
		return slot.Kept
	}
	if !atOnce && e.p >= looked && !c.without(VoidPastDeadline) {
		return slot.Kept
	}
	if !unused {
		fence = 0
	}
	c.voidTicket(t, e, fence)
	if e.att == 0 || unused {
		delete(c.records, id)
	}
	c.extendForTask()
	c.save()
	return slot.Voided
}
