package simulation

import (
	"context"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
)

// operate makes an operator's call when its time has come.
func (w *World) operate(op Operation) {
	time.Sleep(op.At)
	path := op.Path(w)
	in := w.pick(&w.ingests, path)
	out := &response{header: http.Header{}}
	in.ingest.ServeHTTP(out, request(w.ctx, op.Method, path, http.Header{}, nil))
	w.note("", "%s %s: %d", op.Method, path, out.status)
	if op.Then != nil {
		op.Then(w, out.status)
	}
}

// Dispatches is how many the queue has made so far, Runs how many the target has seen.
func (w *World) Dispatches() int64 { return w.queue.stats().Dispatches }

// Runs is how many calls the target has seen so far.
func (w *World) Runs() int {
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	return w.oracle.runs
}

// Head is the id of the request at the head of a lane, empty for none.
func (w *World) Head(key string) string { return w.state(key).Next.Request }

// Depth is how many requests of a lane are unresolved.
func (w *World) Depth(key string) int64 { return w.state(key).Depth }

func (w *World) state(key string) slot.State {
	l, err := lane.Bind(w.document(), key)
	if err != nil {
		panic(err)
	}
	s, _, err := w.redis.Inspect(ctx0, l.Slot, "")
	if err != nil {
		panic(err)
	}
	return s
}

// The scripts by which operators steer are slot.Store's; the oracle sees what they end.

func (s *slots) Pause(ctx context.Context, l slot.Lane, hold bool) (slot.Seen, error) {
	return script(s, ctx, "pause", l.Key, func() (slot.Seen, error) { return s.in.world.redis.Pause(ctx0, l, hold) })
}

func (s *slots) Purge(ctx context.Context, l slot.Lane) (int64, error) {
	return script(s, ctx, "purge", l.Key, func() (int64, error) {
		n, err := s.in.world.redis.Purge(ctx0, l)
		if err == nil {
			s.in.world.oracle.purged(l)
		}
		return n, err
	})
}

func (s *slots) Cancel(ctx context.Context, l slot.Lane, requestID string) (slot.Cancelling, error) {
	return script(s, ctx, "cancel", requestID, func() (slot.Cancelling, error) {
		res, err := s.in.world.redis.Cancel(ctx0, l, requestID)
		s.in.world.oracle.settledBy(l, requestID, res, err)
		return res, err
	})
}

func (s *slots) Resolve(ctx context.Context, l slot.Lane, requestID string, as slot.Resolution, owner string) (slot.Cancelling, error) {
	return script(s, ctx, "resolve", owner, func() (slot.Cancelling, error) {
		res, err := s.in.world.redis.Resolve(ctx0, l, requestID, as, owner)
		s.in.world.oracle.settledBy(l, requestID, res, err)
		return res, err
	})
}

// purged sees that all that waits was cancelled.
func (o *oracle) purged(l slot.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, now := o.lane(l.Key), time.Now().UnixMilli()
	for ticket, t := range b.open {
		if t.fence != 0 && t.expiry > now {
			continue
		}
		delete(b.open, ticket)
		if r := o.request(l.Key, t.request); r.status == "" {
			o.end(r, slot.Outcome(slot.Cancelled), 0)
		}
	}
	b.event = now
}

// settledBy sees that an operator has ended a request, or has set it free to run again.
func (o *oracle) settledBy(l slot.Lane, id string, res slot.Cancelling, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || res.Verdict != slot.OK {
		return
	}
	b, r := o.lane(l.Key), o.request(l.Key, id)
	b.event = res.Now
	if res.Status == slot.Open {
		return
	}
	delete(b.open, res.Ticket)
	if r.status == "" {
		o.end(r, slot.Outcome(res.Status), 0)
	}
}
