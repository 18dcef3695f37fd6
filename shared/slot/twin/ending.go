package twin

import (
	"context"

	"github.com/seriatim/seriatim/shared/slot"
)

// Ending is slot.Store.Ending.
func (s *Store) Ending(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Ending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "ending", l)
	if err != nil {
		return slot.Ending{}, err
	}
	defer s.end(c, l.Policy)
	return (&finish{call: c, lane: l, req: req, r: c.records[req.Request]}).ending(), nil
}

func (f *finish) ending() slot.Ending {
	t, fence := f.req.Grant.Ticket, f.req.Grant.Fence
	if f.r.terminal() {
		return slot.Ending{Verdict: slot.AlreadyDone}
	}
	var e *entry
	if !f.absent {
		e = f.open(t)
	}
	switch {
	case e == nil || e.r != f.req.Request:
		if f.r != nil && f.r.status != "" && !f.absent && f.v[t] && f.r.fence == fence && f.req.Outcome == slot.Accept {
			return f.would(slot.Accept, f.req.Reason)
		}
		return slot.Ending{Verdict: slot.Lost}
	case e.lastfin == fence:
		return slot.Ending{Verdict: slot.AlreadyDone}
	case e.fence != fence:
		return slot.Ending{Verdict: slot.Lost}
	}
	outcome, reason := f.req.Outcome, f.req.Reason
	if outcome == slot.Retry {
		spared := int64(0)
		if !f.req.Counts {
			spared = 1
		}
		if given := f.exhausted(e, spared); given != "" {
			outcome, reason = slot.GiveUp, given
		}
	}
	if outcome == slot.GiveUp && f.lane.Park {
		outcome = slot.Parked
	}
	if f.live(t) {
		f.l[t] = f.now + f.call.lease
		if least := f.l[t] + ms(slot.ConfirmWithin); f.s.end < least {
			f.extend(least + 60000)
		}
		f.save()
	}
	return f.would(outcome, reason)
}

func (f *finish) would(outcome slot.Outcome, reason string) slot.Ending {
	out := slot.Ending{Verdict: slot.OK, Outcome: outcome}
	if out.Ends() {
		out.Record = f.export(f.req.Request)
		out.Record.Status, out.Record.Reason, out.Record.Detail = slot.Status(outcome), reason, f.req.Detail
		out.Record.Response, out.Record.Durable, out.Record.Finished = f.req.Response, false, instant(f.now)
	}
	return out
}

// exhausted says why a request is not tried again, if it is not.
func (f *finish) exhausted(e *entry, spared int64) string {
	switch {
	case e.att-e.spared-spared >= int64(f.lane.Attempts):
		return "attempts"
	case f.now-e.first >= ms(f.lane.MaxAge):
		return "max-age"
	}
	return ""
}
