package twin

import (
	"context"
	"slices"

	"github.com/seriatim/seriatim/shared/slot"
)

// Flushed is slot.Store.Flushed.
func (s *Store) Flushed(ctx context.Context, l slot.Lane, req slot.FlushedRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "flushed", l)
	if err != nil {
		return err
	}
	defer s.end(c, l.Policy)
	r := c.records[req.ID]
	if !r.terminal() || r.ticket != req.Ticket || r.fence != req.Fence {
		return nil
	}
	soon := r.finished + min(c.retain, ms(slot.FlushedLife))
	if b, ok := c.bodies[req.ID]; !req.Same || len(b.text) > slot.FlushedResponse {
		delete(c.bodies, req.ID)
	} else if ok {
		c.bodies[req.ID] = body{b.text, soon}
	}
	c.f = slices.DeleteFunc(c.f, func(e ended) bool { return e.ticket == req.Ticket })
	r.durable = "1"
	if req.Held != "" {
		r.status = string(req.Held)
	}
	if !req.Keyed {
		r.end = soon
	}
	return nil
}
