package simulation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
)

// operate makes an operator's call when its time has come.
func (w *World) operate(op Operation) {
	time.Sleep(op.At)
	path := op.Path(w)
	status := w.call(op.Method, path)
	if op.Then != nil {
		op.Then(w, status)
	}
}

// call makes one call of an operator. An instance that dies under it answers nothing: 0.
func (w *World) call(method, path string) int {
	in, out, over := w.pick(&w.ingests, path), &response{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(over)
		in.ingest.ServeHTTP(out, request(w.ctx, method, path, http.Header{}, nil))
	}()
	<-over
	w.note("", "%s %s: %d", method, path, out.status)
	return out.status
}

// operateAtRandom pauses and resumes lanes, cancels requests, and redrives and skips what is parked, until the clients have gone.
func (w *World) operateAtRandom(gone <-chan struct{}) {
	for i := 0; ; i++ {
		r := w.dice.roll("operates", fmt.Sprint(i))
		time.Sleep(r.span(time.Second, 40*time.Second))
		select {
		case <-gone:
			return
		default:
		}
		key := fmt.Sprintf("L%d", r.intn(max(1, w.Lanes)))
		lane := "/v1/lanes/" + key
		switch head := w.Head(key); r.intn(8) {
		case 0:
			w.call(http.MethodPost, lane+"/pause")
		case 1, 2:
			w.call(http.MethodPost, lane+"/resume")
		case 3, 4:
			w.call(http.MethodPost, lane+"/dead-letters/"+head+"/redrive")
		case 5:
			w.call(http.MethodPost, lane+"/requests/"+head+"/skip")
		default:
			if id := w.oracle.someRequest(key, &r); id != "" {
				w.call(http.MethodDelete, lane+"/requests/"+id)
			}
		}
	}
}

// setFree ends what an operator left: the proof is that all lanes come to their end then.
func (w *World) setFree() {
	for i := range max(1, w.Lanes) {
		key := fmt.Sprintf("L%d", i)
		switch s := w.state(key); s.Stands {
		case slot.StandsPaused:
			w.call(http.MethodPost, "/v1/lanes/"+key+"/resume")
		case slot.StandsParked:
			w.call(http.MethodPost, "/v1/lanes/"+key+"/dead-letters/"+s.Next.Request+"/redrive")
		}
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
	return script(s, ctx, "pause", l.Key, func() (slot.Seen, error) {
		seen, err := s.in.world.redis.Pause(ctx0, l, hold)
		if err == nil {
			s.in.world.oracle.held(l, hold)
		}
		return seen, err
	})
}

func (s *slots) Purge(ctx context.Context, l slot.Lane) (slot.Purging, error) {
	return script(s, ctx, "purge", l.Key, func() (slot.Purging, error) {
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
		ended := res
		ended.Status = slot.Cancelled
		s.in.world.oracle.settledBy(l, requestID, ended, err)
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

// held sees that a lane is paused or goes on.
func (o *oracle) held(l slot.Lane, hold bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.lane(l.Key)
	b.held, b.event = hold, time.Now().UnixMilli()
}

// someRequest draws a request of a lane that nobody will send again, "" for none: a cancelled one that comes again is another
// request under its id, which the books do not tell apart.
func (o *oracle) someRequest(key string, r *roll) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for _, one := range o.order {
		if one.lane == key && one.status == "" && one.client != "" && !one.keyed {
			ids = append(ids, one.id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return ids[r.intn(len(ids))]
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

// redriven begins another life of a dead request. o.mu is held.
func (o *oracle) redriven(r *requestBook) {
	r.status, r.fence, r.answered = "", 0, false
	if !r.acked.IsZero() {
		o.pending++
	}
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
	fence := int64(0)
	if t := b.open[res.Ticket]; t != nil {
		fence = t.retried
	}
	delete(b.open, res.Ticket)
	if r.status == "" {
		o.end(r, slot.Outcome(res.Status), fence)
	}
}
