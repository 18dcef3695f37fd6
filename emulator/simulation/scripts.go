package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// errLost is what a caller sees of a Redis that did not answer.
var errLost = errors.New("simulated: i/o timeout")

// timeout and tries are those of the go-redis client.
const (
	timeout = 3 * time.Second
	tries   = 3
)

// slots are the scripts as an instance reaches them: over a network that loses, delays and repeats.
type slots struct{ in *instance }

// script is one call: exec runs the script and lets the oracle see the answer.
func script[T any](s *slots, ctx context.Context, //nolint:revive // s is the receiver that a generic function cannot have
	op, about string, exec func() (T, error)) (answer T, err error) {
	w, in := s.in.world, s.in
	about = op + " " + about
	w.count(op)
	w.count(RedisCommands)
	r := w.dice.roll("latency", about)
	f := w.faults()
	for range tries {
		w.steps.Add(1)
		if err := pass(ctx, r.span(80*time.Microsecond, 300*time.Microsecond)); err != nil {
			return answer, err
		}
		in.trouble(about)
		lost := w.strike("lost call", about, f.LostCall)
		late := time.Duration(0)
		if w.strike("ghost", about, f.Ghost) {
			late = r.span(timeout, 25*time.Second)
		}
		late = max(late, w.stall(about, f.Stall, &r))
		switch {
		case late > timeout && !lost:
			time.AfterFunc(late, func() { _, _ = exec() })
			lost = true
		case late > 0 && !lost:
			if err := pass(ctx, late); err != nil {
				time.AfterFunc(r.span(0, time.Second), func() { _, _ = exec() })
				return answer, err
			}
		}
		if !lost {
			answer, err = exec()
			in.trouble("after " + about)
			if !w.strike("lost reply", about, f.LostReply) {
				perr := pass(ctx, r.span(80*time.Microsecond, 300*time.Microsecond))
				in.alive(about)
				return answer, errors.Join(err, perr)
			}
		}
		if err := pass(ctx, timeout+r.span(0, time.Second)); err != nil {
			return answer, err
		}
		in.alive(about)
		if late > 0 {
			break // the caller gives up: what it sent runs later
		}
	}
	var none T
	return none, errLost
}

// stall is how long Redis stands still for a call that is sent now.
func (w *World) stall(about string, probability float64, r *roll) time.Duration {
	begins := w.strike("stall", about, probability)
	w.mu.Lock()
	defer w.mu.Unlock()
	if begins {
		w.stalled = time.Now().Add(r.span(0, 4*time.Second))
	}
	if wait := time.Until(w.stalled); wait > 0 {
		return wait + r.span(0, time.Millisecond)
	}
	return 0
}

// Reserve, Start and so on are slot.Store's.
func (s *slots) Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error) {
	sent := time.Now()
	res, err := script(s, ctx, "reserve", req.ID+" "+req.Owner, func() (slot.Reservation, error) {
		res, err := s.in.world.redis.Reserve(ctx0, l, req)
		s.in.world.oracle.reserved(s.in, l, req, res, err)
		return res, err
	})
	s.afterReserve(req, sent)
	return res, err
}

func (s *slots) Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error) {
	sent := time.Now()
	res, err := script(s, ctx, "start", req.Owner+" "+number(req.Drive), func() (slot.Started, error) {
		res, err := s.in.world.redis.Start(ctx0, l, req)
		s.in.world.oracle.started(s.in, l, req, res, err)
		return res, err
	})
	s.afterStart(&res, sent)
	return res, err
}

func (s *slots) Finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	res, err := script(s, ctx, "finish", req.Grant.Owner, func() (slot.Finished, error) {
		res, err := s.in.world.redis.Finish(ctx0, l, req)
		s.in.world.oracle.finished(s.in, l, req, res, err)
		return res, err
	})
	s.in.world.told(&res.Seen, true)
	return res, err
}

// renewal packs the answer of Renew, grantedKick that of Kick.
type (
	renewal     struct{ expiry, ok int64 }
	grantedKick struct{ seq, at int64 }
)

func (s *slots) Renew(ctx context.Context, l slot.Lane, g slot.Grant) (int64, bool, error) {
	if s.in.world.has(LeaseNotRenewed) {
		s.in.alive("renew " + g.Owner)
		return time.Now().Add(l.Lease).UnixMilli(), true, nil
	}
	r, err := script(s, ctx, "renew", g.Owner, func() (r renewal, err error) {
		expiry, ok, err := s.in.world.redis.Renew(ctx0, l, g)
		if ok {
			r.expiry, r.ok = expiry, 1
		}
		s.in.world.oracle.renewed(s.in, l, g, expiry, ok, err)
		return r, err
	})
	return r.expiry, r.ok == 1, err
}

func (s *slots) Confirm(ctx context.Context, l slot.Lane, requestID string, ticket, incarnation int64) (bool, error) {
	if s.in.world.has(ConfirmSkipped) {
		s.in.alive("confirm " + requestID)
		return true, nil
	}
	return script(s, ctx, "confirm", requestID+" "+s.in.name, func() (bool, error) {
		ok, err := s.in.world.redis.Confirm(ctx0, l, requestID, ticket, incarnation)
		s.in.world.note(l.Key, "%s confirm t%s of %s: %t", s.in.name, short(ticket), requestID[:4], ok)
		return ok, err
	})
}

func (s *slots) Void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool) (slot.Looked, error) {
	return script(s, ctx, "void", requestID+" "+s.in.name, func() (slot.Looked, error) {
		res, err := s.in.world.redis.Void(ctx0, l, requestID, ticket, atOnce)
		s.in.world.oracle.looked(s.in, l, "void", requestID, ticket, res, err)
		return res, err
	})
}

func (s *slots) GiveUp(ctx context.Context, l slot.Lane, requestID string, ticket, fence int64) (slot.Looked, error) {
	return script(s, ctx, "void", requestID+" "+s.in.name, func() (slot.Looked, error) {
		res, err := s.in.world.redis.GiveUp(ctx0, l, requestID, ticket, fence)
		s.in.world.oracle.looked(s.in, l, "void", requestID, ticket, res, err)
		return res, err
	})
}

func (s *slots) Flushed(ctx context.Context, l slot.Lane, req slot.FlushedRequest) error {
	_, err := script(s, ctx, "flushed", req.ID+" "+s.in.name, func() (struct{}, error) {
		return struct{}{}, s.in.world.redis.Flushed(ctx0, l, req)
	})
	return err
}

func (s *slots) VoidHead(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return script(s, ctx, "void", h.Request+" "+s.in.name, func() (slot.Looked, error) {
		res, err := s.in.world.redis.VoidHead(ctx0, l, h)
		s.in.world.oracle.looked(s.in, l, "void", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Missing(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return script(s, ctx, "missing", h.Request+" "+s.in.name, func() (slot.Looked, error) {
		res, err := s.in.world.redis.Missing(ctx0, l, h)
		s.in.world.oracle.looked(s.in, l, "missing", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Settle(ctx context.Context, l slot.Lane, h slot.Head, status slot.Status) (slot.Looked, error) {
	return script(s, ctx, "settle", h.Request+" "+s.in.name, func() (slot.Looked, error) {
		res, err := s.in.world.redis.Settle(ctx0, l, h, status)
		s.in.world.oracle.looked(s.in, l, "settle", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Kick(ctx context.Context, l slot.Lane, incarnation, at int64, owner string) (int64, int64, error) {
	r, err := script(s, ctx, "kick", owner, func() (r grantedKick, err error) {
		r.seq, r.at, err = s.in.world.redis.Kick(ctx0, l, incarnation, at, owner)
		s.in.world.note(l.Key, "%s kick for %+d ms: seq %d", s.in.name, at-time.Now().UnixMilli(), r.seq)
		return r, err
	})
	return r.seq, r.at, err
}

func (s *slots) Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error) {
	type inspected struct {
		slot.State
		slot.RequestState
	}
	got, err := script(s, ctx, "inspect", requestID+" "+s.in.name, func() (got inspected, err error) {
		got.State, got.RequestState, err = s.in.world.redis.Inspect(ctx0, l, requestID)
		return got, err
	})
	return got.State, got.RequestState, err
}

func (s *slots) Journal(ctx context.Context, l slot.Lane) ([]journal.Entry, error) {
	return script(s, ctx, "journal", s.in.name, func() ([]journal.Entry, error) { return s.in.world.redis.Journal(ctx0, l) })
}

func (s *slots) List(ctx context.Context, l slot.Lane, req slot.ListRequest) (slot.Listed, error) {
	return script(s, ctx, "list", s.in.name, func() (slot.Listed, error) { return s.in.world.redis.List(ctx0, l, req) })
}

// ctx0 is for scripts: once sent, nothing stops them.
var ctx0 = context.Background()
