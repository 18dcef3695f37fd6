package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/twin"
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

// caller is who sent the command that Redis carries out, when, to which server, and what it knew.
type caller struct {
	twin.Caller
	in      *instance
	sent    time.Time
	server  int64
	blocked []string
}

// perform carries out one command, unless its server is gone.
func perform[T any](w *World, by caller, run func(context.Context) (T, error)) (answer T, err error) {
	w.performing.Lock()
	defer w.performing.Unlock()
	if by.server != w.server && by.in != nil && by.in.tracker != nil {
		return answer, errReset
	}
	w.by = by
	ctx := ctx0
	if by.Generation.Number > 0 {
		ctx = twin.As(ctx0, by.Caller)
	}
	return run(ctx)
}

// script is one call of a lane's script, as slot.Store makes it: the paused targets go with it, and what is known of the
// generation.
func script[T any](s *slots, ctx context.Context, l slot.Lane, //nolint:revive // s is the receiver that a generic function cannot have
	op, about string, run func(context.Context) (T, error)) (answer T, err error) {
	in := s.in
	if in.targets != nil { // those who have waited for one read must not all go on at one instant: the first asks anew
		r := in.world.dice.roll("sends", op+" "+about)
		if err := pass(ctx, r.span(time.Nanosecond, 50*time.Microsecond)); err != nil {
			return answer, err
		}
	}
	by := caller{in: in, sent: time.Now()}
	asks := op != "renew"
	if asks && in.tracker != nil {
		_ = in.tracker.Check(refreshing(ctx))
		in.restore(ctx)
	}
	if asks && in.targets != nil {
		by.blocked, err = in.targets.List(ctx)
		r := in.world.dice.roll("listed", op+" "+about)
		if late := pass(ctx, r.span(time.Nanosecond, 50*time.Microsecond)); err == nil {
			err = late
		}
	}
	for refreshed := false; err == nil; {
		var as slot.Generation
		answer, err = command(ctx, by, op, about, func(ctx context.Context) (T, error) {
			as = in.world.by.Generation
			return run(ctx)
		})
		switch {
		case errors.Is(err, twin.ErrRestore):
			var m slot.Marks
			m, err = in.kept.Restore(ctx, l.Key)
			by.Marks = &m
		case errors.Is(err, slot.ErrGeneration) && in.tracker != nil && !refreshed:
			refreshed, err = true, in.tracker.Refresh(refreshing(ctx))
		case err == nil && in.tracker != nil && fresh(answer) && !in.world.has(NewUnverified):
			return answer, in.tracker.Verify(refreshing(ctx), as.Number)
		default:
			return answer, err
		}
	}
	return answer, err
}

// fresh says that the answer is about a lane that is new: it may be so because Redis was emptied.
func fresh(answer any) bool {
	var seen slot.Seen
	switch a := answer.(type) {
	case slot.Reservation:
		if a.Ticket == 0 || a.Verdict == slot.Replayed {
			return false
		}
		seen = a.Seen
	case slot.Purging: // tickets begin at the instant the lane does
		seen.Now, seen.Incarnation = time.Now().UnixMilli(), a.Below
	case slot.Seen:
		seen = a
	}
	return seen.Incarnation > 0 && seen.Now < seen.Incarnation/1000+slot.NewFor.Milliseconds()
}

// command is one call: run runs it and lets the oracle see the answer. Each time that it is sent it goes to the server that is
// there, with the generation of then.
func command[T any](ctx context.Context, by caller, op, about string, run func(context.Context) (T, error)) (answer T, err error) {
	w, in := by.in.world, by.in
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
		if by.server, err = in.connect(ctx, about); err == nil && in.tracker != nil {
			by.Generation, err = in.tracker.Current()
		}
		if _, making := ctx.Value(pinned{}).(connection); err != nil && !making {
			w.note("", "%s does not reach Redis for %s: %v", in.name, about, err)
			if err := pass(ctx, r.span(8*time.Millisecond, 500*time.Millisecond)); err != nil {
				return answer, err
			}
			continue
		}
		sent := by
		exec := func() (T, error) { return perform(w, sent, run) }
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
			reset := errors.Is(err, errReset)
			if !reset && !w.strike("lost reply", about, f.LostReply) {
				perr := pass(ctx, r.span(80*time.Microsecond, 300*time.Microsecond))
				in.alive(about)
				return answer, errors.Join(err, perr)
			}
			if reset {
				if err := pass(ctx, r.span(8*time.Millisecond, 500*time.Millisecond)); err != nil {
					return answer, err
				}
				continue
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
	res, err := script(s, ctx, l, "reserve", req.ID+" "+req.Owner, func(as context.Context) (slot.Reservation, error) {
		res, err := s.in.world.redis.Reserve(as, l, req)
		s.in.world.oracle.reserved(s.in, l, req, res, err)
		return res, err
	})
	s.afterReserve(req, sent)
	return res, err
}

func (s *slots) Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error) {
	sent := time.Now()
	res, err := script(s, ctx, l, "start", req.Owner+" "+number(req.Drive), func(as context.Context) (slot.Started, error) {
		res, err := s.in.world.redis.Start(as, l, req)
		s.in.world.oracle.started(s.in, l, req, res, err)
		return res, err
	})
	s.afterStart(&res, sent)
	return res, err
}

func (s *slots) Finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	res, err := script(s, ctx, l, "finish", req.Grant.Owner, func(as context.Context) (slot.Finished, error) {
		res, err := s.in.world.redis.Finish(as, l, req)
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
	r, err := script(s, ctx, l, "renew", g.Owner, func(as context.Context) (r renewal, err error) {
		expiry, ok, err := s.in.world.redis.Renew(as, l, g)
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
	return script(s, ctx, l, "confirm", requestID+" "+s.in.name, func(as context.Context) (bool, error) {
		ok, err := s.in.world.redis.Confirm(as, l, requestID, ticket, incarnation)
		s.in.world.note(l.Key, "%s confirm t%s of %s: %t", s.in.name, short(ticket), requestID[:4], ok)
		return ok, err
	})
}

func (s *slots) Void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool) (slot.Looked, error) {
	return script(s, ctx, l, "void", requestID+" "+s.in.name, func(as context.Context) (slot.Looked, error) {
		res, err := s.in.world.redis.Void(as, l, requestID, ticket, atOnce)
		s.in.world.oracle.looked(s.in, l, "void", requestID, ticket, res, err)
		return res, err
	})
}

func (s *slots) GiveUp(ctx context.Context, l slot.Lane, requestID string, ticket, fence int64) (slot.Looked, error) {
	return script(s, ctx, l, "void", requestID+" "+s.in.name, func(as context.Context) (slot.Looked, error) {
		res, err := s.in.world.redis.GiveUp(as, l, requestID, ticket, fence)
		s.in.world.oracle.looked(s.in, l, "void", requestID, ticket, res, err)
		return res, err
	})
}

func (s *slots) Flushed(ctx context.Context, l slot.Lane, req slot.FlushedRequest) error {
	_, err := script(s, ctx, l, "flushed", req.ID+" "+s.in.name, func(as context.Context) (struct{}, error) {
		return struct{}{}, s.in.world.redis.Flushed(as, l, req)
	})
	return err
}

func (s *slots) VoidHead(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return script(s, ctx, l, "void", h.Request+" "+s.in.name, func(as context.Context) (slot.Looked, error) {
		res, err := s.in.world.redis.VoidHead(as, l, h)
		s.in.world.oracle.looked(s.in, l, "void", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Missing(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	return script(s, ctx, l, "missing", h.Request+" "+s.in.name, func(as context.Context) (slot.Looked, error) {
		res, err := s.in.world.redis.Missing(as, l, h)
		s.in.world.oracle.looked(s.in, l, "missing", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Settle(ctx context.Context, l slot.Lane, h slot.Head, status slot.Status) (slot.Looked, error) {
	return script(s, ctx, l, "settle", h.Request+" "+s.in.name, func(as context.Context) (slot.Looked, error) {
		res, err := s.in.world.redis.Settle(as, l, h, status)
		s.in.world.oracle.looked(s.in, l, "settle", h.Request, h.Ticket, res, err)
		return res, err
	})
}

func (s *slots) Kick(ctx context.Context, l slot.Lane, incarnation, at int64, owner string) (int64, int64, error) {
	r, err := script(s, ctx, l, "kick", owner, func(as context.Context) (r grantedKick, err error) {
		r.seq, r.at, err = s.in.world.redis.Kick(as, l, incarnation, at, owner)
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
	got, err := script(s, ctx, l, "inspect", requestID+" "+s.in.name, func(as context.Context) (got inspected, err error) {
		got.State, got.RequestState, err = s.in.world.redis.Inspect(as, l, requestID)
		return got, err
	})
	return got.State, got.RequestState, err
}

// Ending is slot.Store's.
func (s *slots) Ending(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Ending, error) {
	return script(s, ctx, l, "ending", req.Grant.Owner, func(as context.Context) (slot.Ending, error) {
		res, err := s.in.world.redis.Ending(as, l, req)
		s.in.world.oracle.ending(l, req, res, err)
		return res, err
	})
}

// Extend is slot.Store's.
func (s *slots) Extend(ctx context.Context, l slot.Lane, horizon int64) error {
	_, err := script(s, ctx, l, "horizon", l.Key+" "+s.in.name, func(as context.Context) (struct{}, error) {
		return struct{}{}, s.in.world.redis.Extend(as, l, horizon)
	})
	return err
}

// Journal is slot.Store's.
func (s *slots) Journal(ctx context.Context, l slot.Lane) ([]journal.Entry, error) {
	return script(s, ctx, l, "journal", s.in.name, func(as context.Context) ([]journal.Entry, error) { return s.in.world.redis.Journal(as, l) })
}

func (s *slots) List(ctx context.Context, l slot.Lane, req slot.ListRequest) (slot.Listed, error) {
	return script(s, ctx, l, "list", s.in.name, func(as context.Context) (slot.Listed, error) { return s.in.world.redis.List(as, l, req) })
}

// ctx0 is for scripts: once sent, nothing stops them.
var ctx0 = context.Background()
