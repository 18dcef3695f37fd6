package twin

import (
	"context"
	"math"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// finish is one FINISH under way.
type finish struct {
	*call
	lane slot.Lane
	req  slot.FinishRequest
	r    *record
}

// Finish is slot.Store.Finish.
func (s *Store) Finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "finish", l)
	if err != nil {
		return slot.Finished{}, err
	}
	out := (&finish{call: c, lane: l, req: req, r: c.records[req.Request]}).run()
	out.Seen = c.seen(true)
	s.end(c, l.Policy)
	return out, nil
}

func (f *finish) run() slot.Finished {
	t, fence := f.req.Grant.Ticket, f.req.Grant.Fence
	if f.r.terminal() && !f.without(TerminalStays) {
		if f.r.fence == fence && f.r.status != string(slot.Cancelled) {
			return f.final(slot.Outcome(f.r.status))
		}
		return slot.Finished{Verdict: slot.AlreadyDone, Outcome: slot.Outcome(f.r.status)}
	}
	var e *entry
	if !f.absent {
		e = f.open(t)
	}
	if e == nil || e.r != f.req.Request {
		if f.r != nil && f.r.status != "" && !f.absent && f.v[t] && f.r.fence == fence && f.req.Outcome == slot.Accept {
			f.write(slot.Accept, f.req.Reason)
			f.ends(slot.Accept, f.req.Reason, 0)
			f.save()
			return f.final(slot.Accept)
		}
		return slot.Finished{Verdict: slot.Lost}
	}
	if e.lastfin == fence && !f.without(ResendOfRetry) {
		return f.again(e)
	}
	if e.fence != fence && !f.without(FenceAtFinish) {
		return slot.Finished{Verdict: slot.Lost}
	}
	return f.end(t, e)
}

// again answers for a request that keeps its place: it is retried, or parked.
func (f *finish) again(e *entry) slot.Finished {
	out := slot.Finished{Verdict: slot.OK, Outcome: slot.Retry, Due: e.due, K: int(e.k), At: e.nb}
	if e.parked == 1 {
		out.Outcome = slot.Parked
	}
	return out
}

// end ends the attempt of the lease's owner.
func (f *finish) end(t int64, e *entry) slot.Finished {
	outcome, reason, backoff := f.req.Outcome, f.req.Reason, int64(0)
	if outcome == slot.Retry {
		f.s.fails++
		jitter := math.Round(f.req.Jitter*1000) / 1000
		wait := min(float64(ms(f.lane.BackoffMax)), float64(ms(f.lane.BackoffMin))*math.Pow(2, float64(min(f.s.fails-1, 40)))) * jitter
		if after := ms(f.req.RetryAfter); after > 0 {
			wait = float64(after)
		}
		backoff = int64(math.Ceil(wait))
		if !f.req.Counts {
			e.spared++
		}
		if given := f.exhausted(e, 0); given != "" {
			outcome, reason = slot.GiveUp, given
		}
	} else {
		f.s.fails = 0
	}
	if outcome == slot.GiveUp && f.lane.Park {
		e.parked, f.s.fails = 1, 0
		outcome = slot.Retry
	}
	if outcome == slot.Retry {
		return f.retry(t, e, backoff, reason)
	}
	if backoff > 0 {
		f.s.hold = max(f.s.hold, f.now+backoff)
	}
	f.write(outcome, reason)
	f.ends(outcome, reason, backoff)
	f.resolve(t)
	f.extend(max(f.now+f.retain, f.s.hold) + 60000)
	f.wake()
	f.save()
	return f.final(outcome)
}

// ends notes the end of the ticket.
func (f *finish) ends(outcome slot.Outcome, reason string, backoff int64) {
	e := journal.Entry{
		Event: journal.Event(outcome), Ticket: f.req.Grant.Ticket, Request: f.req.Request, Fence: f.req.Grant.Fence, Reason: reason,
	}
	if backoff > 0 {
		e.NotBefore = journal.Instant(f.s.hold)
	}
	f.note(e)
}

// final answers for a request that has ended.
func (f *finish) final(outcome slot.Outcome) slot.Finished {
	out := slot.Finished{Verdict: slot.OK, Outcome: outcome, Record: f.export(f.req.Request)}
	out.Record.Response = f.req.Response
	return out
}

func (f *finish) retry(t int64, e *entry, backoff int64, reason string) slot.Finished {
	e.nb, e.lastfin, e.fence, e.owner = f.now+backoff, f.req.Grant.Fence, 0, ""
	if e.p != 0 && !f.without(RetryRearms) {
		e.p = f.now + ms(slot.ConfirmWithin)
	}
	out := f.again(e)
	if f.req.Own {
		out.K, out.Due = int(max(e.k, int64(f.req.K)+1)), max(f.now, e.nb-int64(math.Floor(f.lead())))
		if e.parked == 1 {
			out.Due = f.standingUntil(f.req.K, f.req.Jitter)
		}
		if !f.without(RetryCounts) {
			e.k, e.due = int64(out.K), out.Due
		}
	}
	note := journal.Entry{
		Event: journal.Retry, Ticket: t, Request: f.req.Request, Fence: f.req.Grant.Fence, K: e.k, NotBefore: journal.Instant(e.nb), Reason: reason,
	}
	if e.parked == 1 {
		note.Event = journal.Park
	}
	f.note(note)
	f.l[t] = 0
	if f.without(RetryKeepsPlace) {
		delete(f.l, t)
	}
	f.s.since = f.now
	r := f.record(f.req.Request)
	r.reason, r.detail = reason, f.req.Detail
	f.extendForTask()
	r.end = f.s.end
	if e.parked == 1 {
		f.respond(f.s.end)
	}
	f.wake()
	f.save()
	return out
}

// write makes the record terminal.
func (f *finish) write(status slot.Outcome, reason string) {
	r := f.record(f.req.Request)
	r.reason, r.detail, r.durable = reason, f.req.Detail, "0"
	f.finished(r, f.req.Request, f.req.Grant.Ticket, slot.Status(status))
	f.respond(r.end)
}

// respond stores the response until then.
func (f *finish) respond(until int64) {
	if len(f.req.Response) == 0 {
		delete(f.bodies, f.req.Request)
		return
	}
	f.bodies[f.req.Request] = body{string(f.req.Response), until}
}

// Renew is slot.Store.Renew.
func (s *Store) Renew(ctx context.Context, l slot.Lane, g slot.Grant) (expiry int64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "renew", l)
	if err != nil {
		return 0, false, err
	}
	defer s.end(c, l.Policy)
	var e *entry
	if !c.absent {
		e = c.open(g.Ticket)
	}
	_, leased := c.l[g.Ticket]
	if e == nil || !(c.live(g.Ticket) || leased && c.without(NeverRevive)) ||
		(e.fence != g.Fence || e.owner != g.Owner) && !c.without(RenewChecksFence) {
		return 0, false, nil
	}
	c.l[g.Ticket] = c.now + c.lease
	if least := c.now + c.lease + ms(slot.ConfirmWithin); c.s.end < least {
		c.extend(least + 60000)
	}
	c.save()
	return c.now + c.lease, true, nil
}
