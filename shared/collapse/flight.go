package collapse

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"time"
)

// pollEvery is how often a follower asks by itself, in case a wake-up was
// lost: between once and twice this long.
const pollEvery = 250 * time.Millisecond

// flightID names what the callers of one instance may share.
type flightID struct {
	key   Key
	stamp string
}

// member is a caller in a flight.
type member struct {
	ctx    context.Context
	policy Policy
	fetch  Fetch
	reply  chan reply // capacity 1; sent to under the group's mutex
	left   bool       // guarded by the group's mutex
}

// reply is what a member is told: to fetch for itself, or an answer.
type reply struct {
	pass   bool
	result Result
	err    error
}

// close lets a stream go that nobody will read; its error concerns nobody.
func (r reply) close() {
	if s := r.result.Stream; s != nil {
		_ = s.Close()
	}
}

// flight is one instance's way to the answer of a key: it looks up in Redis on
// behalf of all who came before, and then answers, fetches or waits for them.
// Callers who come during a look-up are not answered by it, as the key may have
// been invalidated before they came: for them it looks up again.
type flight struct {
	group *Group
	id    flightID

	early []*member // came before the last look-up was sent; of the flight's goroutine
	watch *watch    // while it waits for a leader

	late    []*member // guarded by the group's mutex, like what follows
	dropped bool      // by Invalidate: late ones came before it
}

// enter puts a caller into the flight of id, which it starts if there is none.
func (g *Group) enter(id flightID, m *member) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	f := g.flights[id]
	if f == nil {
		f = &flight{group: g, id: id}
		g.flights[id] = f
		g.running.Go(f.run)
	}
	f.late = append(f.late, m)
	return nil
}

// leave takes a caller out; what was answered in the same moment is dropped.
func (g *Group) leave(m *member) {
	g.mu.Lock()
	m.left = true
	g.mu.Unlock()
	select {
	case r := <-m.reply:
		r.close()
	default:
	}
}

// answer replies to members; one who left gets nothing.
func (g *Group) answer(members []*member, r func(*member) reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range members {
		if x := r(m); m.left {
			x.close()
		} else {
			m.reply <- x
		}
	}
}

// run looks up until nobody is left.
func (f *flight) run() {
	defer f.unwatch()
	nonce, since := rand.Text(), int64(0)
	for f.admit() {
		v := f.look(nonce, since)
		if v.kind == verdictWait {
			if since == 0 {
				since = v.began()
			}
			f.await(v.lease())
			continue
		}
		f.unwatch()
		f.act(v, nonce, since > 0)
		nonce, since = rand.Text(), 0
	}
}

// admit makes all who are here early. It is false, and the flight at its end,
// when nobody is, or when another flight has taken its place: that one then
// has its callers.
func (f *flight) admit() bool {
	g := f.group
	g.mu.Lock()
	defer g.mu.Unlock()
	f.early = slices.DeleteFunc(append(f.early, f.late...), func(m *member) bool { return m.left })
	f.late = nil
	other := g.flights[f.id]
	switch {
	case g.ctx.Err() != nil:
		for _, m := range f.early {
			m.reply <- reply{err: ErrClosed}
		}
	case len(f.early) == 0:
	case other != nil && other != f:
		other.late = append(other.late, f.early...)
	default:
		g.flights[f.id], f.dropped = f, false
		return true
	}
	g.withdraw(f)
	return false
}

// tell answers the early ones.
func (f *flight) tell(r reply) {
	f.group.answer(f.early, func(*member) reply { return r })
	f.early = nil
}

func (f *flight) look(nonce string, since int64) verdict {
	s := f.group.store
	if s == nil {
		return verdict{kind: verdictLocal, text: []byte(DetailRedis)}
	}
	first := f.early[0]
	return s.join(first.ctx, f.id.key, first.policy, nonce, since)
}

// act answers the early ones by a verdict, or fetches for them.
func (f *flight) act(v verdict, nonce string, awaited bool) {
	switch {
	case v.kind == verdictLocal:
		f.fetch(v, "")
	case v.kind != verdictLead:
		f.tell(v.reply(awaited))
	case v.whileRevalidate() > 0:
		// One caller waits for the refresh, as nothing runs on Cloud Run once
		// there is no caller; it goes on beside this flight.
		refresh := &flight{group: f.group, id: f.id, early: f.early[:1:1]}
		f.early = f.early[1:]
		f.group.running.Go(func() { refresh.fetch(v, nonce) })
		f.tell(v.stale())
	default:
		f.fetch(v, nonce)
	}
}

// await returns when the leader may have settled, or died.
func (f *flight) await(lease time.Duration) {
	g := f.group
	if f.watch == nil {
		f.watch = g.waker.watch(f.id.key.epoch(), f.id.key.entry())
	}
	pause := min(g.poll, max(lease, 5*time.Millisecond))
	timer := time.NewTimer(pause + mathrand.N(pause))
	defer timer.Stop()
	select {
	case <-f.watch.woken:
	case <-timer.C:
	case <-g.ctx.Done():
	}
}

func (f *flight) unwatch() {
	if f.watch != nil {
		f.group.waker.unwatch(f.watch)
		f.watch = nil
	}
}
