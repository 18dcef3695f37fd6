package simulation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
func (w *World) call(method, path string) int { return w.ask(method, path, "").status }

// ask is call with a body, and gives the whole answer.
func (w *World) ask(method, path, body string) *response {
	in, out, over := w.pick(&w.ingests, path), &response{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(over)
		in.enter(method + " " + path)
		path, query, _ := strings.Cut(path, "?")
		r := request(w.ctx, method, path, http.Header{}, []byte(body))
		r.URL.RawQuery = query
		in.ingest.ServeHTTP(out, r)
		w.oracle.operated(method, path, out)
	}()
	<-over
	w.note("", "%s %s %s: %d", method, path, body, out.status)
	return out
}

// operateAtRandom does all that an operator can, until the clients have gone.
func (w *World) operateAtRandom(gone <-chan struct{}) {
	for i := 0; ; i++ {
		r := w.dice.roll("operates", fmt.Sprint(i))
		time.Sleep(r.span(time.Second, 40*time.Second))
		select {
		case <-gone:
			return
		default:
		}
		w.steer(fmt.Sprintf("L%d", r.intn(max(1, w.Lanes))), &r)
	}
}

// steer makes one call about the lane of key, drawn from r.
func (w *World) steer(key string, r *roll) {
	lane, head := "/v1/lanes/"+key, w.Head(key)
	some := func(which func(*requestBook) bool) string { return w.oracle.some(key, r, which) }
	open := func(b *requestBook) bool { return b.status == "" }
	dead := func(b *requestBook) bool { return b.status == slot.GiveUp }
	switch r.intn(24) {
	case 0, 1:
		w.call(http.MethodPost, lane+"/pause")
	case 2, 3, 4:
		w.call(http.MethodPost, lane+"/resume")
	case 5, 6:
		w.call(http.MethodPost, lane+"/dead-letters/"+head+"/redrive")
	case 7:
		w.call(http.MethodPost, lane+"/requests/"+head+"/skip")
	case 8, 9, 10:
		w.ask(http.MethodPost, lane+"/requests/"+head+"/resolve", resolution(r))
	case 11, 12, 13, 14:
		w.call(http.MethodDelete, lane+"/requests/"+some(open))
	case 15:
		w.call(http.MethodPost, lane+"/purge")
	case 16, 17:
		w.call(http.MethodPost, lane+"/dead-letters/"+some(dead)+"/redrive")
	case 18:
		w.call(http.MethodPost, lane+"/dead-letters/redrive")
	case 19:
		w.call(http.MethodPost, "/v1/targets/work/pause")
	case 20, 21:
		w.call(http.MethodPost, "/v1/targets/work/resume")
	case 22:
		w.ask(http.MethodGet, lane+"/requests?page_size=50", "")
	default:
		w.ask(http.MethodGet, lane+"/dead-letters", "")
	}
}

// resolution is what somebody says became of a request.
func resolution(r *roll) string {
	return `{"as":"` + []string{"retry", "done", "dead"}[r.intn(3)] + `"}`
}

// setFree ends what an operator left: the proof is that all lanes come to their end then.
func (w *World) setFree() {
	if !w.pausedSince("work").IsZero() {
		w.call(http.MethodPost, "/v1/targets/work/resume")
	}
	for i := range max(1, w.Lanes) {
		key := fmt.Sprintf("L%d", i)
		r := w.dice.roll("sets free", key)
		switch s := w.state(key); s.Stands {
		case slot.StandsPaused:
			w.call(http.MethodPost, "/v1/lanes/"+key+"/resume")
		case slot.StandsParked:
			if r.intn(3) == 0 {
				w.call(http.MethodPost, "/v1/lanes/"+key+"/requests/"+s.Next.Request+"/skip")
			} else {
				w.call(http.MethodPost, "/v1/lanes/"+key+"/dead-letters/"+s.Next.Request+"/redrive")
			}
		case slot.StandsUnknown:
			w.ask(http.MethodPost, "/v1/lanes/"+key+"/requests/"+s.Next.Request+"/resolve", resolution(&r))
		}
	}
}

// pausedSince is when a target was paused, zero for one that is not.
func (w *World) pausedSince(name string) time.Time {
	w.performing.Lock()
	defer w.performing.Unlock()
	return w.plain.paused(name)
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
	s, err := perform(w, caller{Caller: w.newest()}, func(as context.Context) (slot.State, error) {
		s, _, err := w.redis.Inspect(as, l.Slot, "")
		return s, err
	})
	if err != nil {
		panic(err)
	}
	return s
}

// The scripts by which operators steer are slot.Store's; the oracle sees what they end.

func (s *slots) Pause(ctx context.Context, l slot.Lane, hold bool) (slot.Seen, error) {
	return script(s, ctx, l, "pause", l.Key, func(as context.Context) (slot.Seen, error) {
		seen, err := s.in.world.redis.Pause(as, l, hold)
		if err == nil {
			s.in.world.oracle.held(l, hold)
		}
		return seen, err
	})
}

func (s *slots) Purge(ctx context.Context, l slot.Lane) (slot.Purging, error) {
	return script(s, ctx, l, "purge", l.Key, func(as context.Context) (slot.Purging, error) {
		n, err := s.in.world.redis.Purge(as, l)
		if err == nil {
			s.in.world.oracle.purged(l)
		}
		return n, err
	})
}

func (s *slots) Cancel(ctx context.Context, l slot.Lane, requestID string) (slot.Cancelling, error) {
	return script(s, ctx, l, "cancel", requestID, func(as context.Context) (slot.Cancelling, error) {
		res, err := s.in.world.redis.Cancel(as, l, requestID)
		ended := res
		ended.Status = slot.Cancelled
		s.in.world.oracle.settledBy(l, requestID, ended, err)
		return res, err
	})
}

func (s *slots) Resolve(ctx context.Context, l slot.Lane, requestID string, as slot.Resolution, owner string) (slot.Cancelling, error) {
	return script(s, ctx, l, "resolve", owner, func(call context.Context) (slot.Cancelling, error) {
		res, err := s.in.world.redis.Resolve(call, l, requestID, as, owner)
		s.in.world.oracle.settledBy(l, requestID, res, err)
		return res, err
	})
}

// held sees that a lane is paused or goes on.
func (o *oracle) held(l slot.Lane, hold bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.lane(l.Key)
	if b.event = time.Now().UnixMilli(); !o.world.unnoticed() { // else the caller is told that Redis was lost
		b.held = hold
	}
}

// some draws one of the requests of a lane, "" for none.
func (o *oracle) some(key string, r *roll, which func(*requestBook) bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for _, one := range o.order {
		if one.lane == key && which(one) {
			ids = append(ids, one.id)
		}
	}
	if len(ids) == 0 {
		return "none"
	}
	return ids[r.intn(len(ids))]
}

// operated sees what an operator is answered. A cancel or a purge that is answered 200 is kept outside Redis, where the lane is durable.
func (o *oracle) operated(method, path string, out *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	parts := strings.Split(path, "/") // "", v1, lanes, key, ...
	id := out.header.Get("Seriatim-Request-Id")
	if out.status == http.StatusAccepted && id != "" {
		o.accepted(o.request(parts[3], id), out)
	}
	switch {
	case strings.HasSuffix(path, "/requests"):
		o.listed(parts[3], out)
	case out.status == http.StatusOK && o.world.Durable && strings.HasSuffix(path, "/purge"):
		for _, r := range o.order {
			r.outlives = r.outlives || r.lane == parts[3] && !r.purged.IsZero() && r.purged.Equal(o.lane(r.lane).purged)
		}
	case out.status == http.StatusOK && o.world.Durable && method == http.MethodDelete:
		if r := o.request(parts[3], parts[5]); r.status == slot.Outcome(slot.Cancelled) {
			r.outlives = true
		}
	}
}

// purged sees that all that waits was cancelled.
func (o *oracle) purged(l slot.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, now := o.lane(l.Key), time.Now().UnixMilli()
	if o.world.late() {
		return // the lane that it purged counts for nothing, and it is told to say so again
	}
	for ticket, t := range b.open {
		if t.fence != 0 && t.expiry > now {
			continue
		}
		delete(b.open, ticket)
		r := o.request(l.Key, t.request)
		lf := b.lives[ticket]
		if o.decided(r, lf); lf.status == "" {
			o.end(r, lf, slot.Outcome(slot.Cancelled), 0)
		}
		if lf.status == slot.Outcome(slot.Cancelled) {
			lf.purged = time.Now()
		}
	}
	b.event, b.purged = now, time.Now()
}

// targets checks that nothing starts against a paused target once every instance must know. What it knew when it sent the call
// counts, and how long the slowest read may have taken.
func (o *oracle) targets(b *laneBook, g slot.Grant) {
	by, since := o.world.by, o.world.plain.paused("work")
	if since.IsZero() || by.sent.Sub(since) <= slot.PausedWithin+slowestRead || by.in.stoodSince(since) {
		return
	}
	if by.sent.Sub(time.Unix(0, by.in.blind.Load())) < blindFor && by.sent.Sub(since) <= pausedKnown+slowestRead {
		o.except(PausedUnread, b.key, "t%s is granted %v after its target was paused", short(g.Ticket), time.Since(since))
		return
	}
	o.violate(b.key, "pause: t%s is granted %v after its target was paused", short(g.Ticket), time.Since(since))
}

// PausedUnread: an instance that cannot read the paused targets goes on with those that it knew.
const PausedUnread = "paused targets not readable"

// pausedKnown is how long slot.PausedTargets believes what it has read while it cannot read.
const pausedKnown = 10 * time.Second

// blindFor is how long an instance goes on with what it knew after a read that failed.
const blindFor = slot.PausedWithin + time.Second

// slowestRead is how long a read of the paused targets takes at most, twice: one that fails is made anew.
const slowestRead = 2 * tries * (timeout + 5*time.Second)

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
	fence, lf := int64(0), o.lifeOf(r, res.Ticket)
	if t := b.open[res.Ticket]; t != nil {
		fence = max(t.retried, t.fence)
	}
	delete(b.open, res.Ticket)
	if lf.status == "" {
		lf.resolved = true
		o.end(r, lf, slot.Outcome(res.Status), fence)
	}
}
