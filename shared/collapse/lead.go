package collapse

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"
)

// The kinds of settle.lua.
const (
	kindValue  = "value"
	kindFailed = "failed" // the origin's answer, a failure
	kindError  = "error"  // no answer
	kindPass   = "pass"
	kindLarge  = "large"
	kindNone   = "none" // the leader gives up
)

// settlement is what a flight leaves to others.
type settlement struct {
	kind  string
	body  []byte
	age   time.Duration // of the value
	times Times         // of the value
	mark  time.Duration // life of what is no value
	err   error         // with kindError: what others are told
}

// maxErrorText bounds what other instances learn of an error, in bytes.
const maxErrorText = 256

var errNotShared = errors.New("its answer cannot be shared")

// settlement decides what is left of an answer or error that took elapsed.
func (p Policy) settlement(a Answer, err error, elapsed time.Duration) settlement {
	mine := a.Private || a.Stream != nil
	large := len(a.Value) > MaxValue
	if err == nil && a.Failed && (mine || large) {
		err = errNotShared
	}
	switch {
	case err != nil:
		text := err.Error()
		text = text[:min(len(text), maxErrorText)]
		return settlement{kind: kindError, body: []byte(text), mark: p.NegativeTTL, err: fmt.Errorf("%w: %w", ErrOrigin, err)}
	case mine:
		return settlement{kind: kindPass, mark: p.PassTTL}
	case large:
		return settlement{kind: kindLarge, mark: p.PassTTL}
	case a.Failed:
		return settlement{kind: kindFailed, body: a.Value, mark: p.NegativeTTL}
	}
	times := p.Times
	if a.Times != nil {
		times = *a.Times
	}
	if tenth := min(max(times.Fresh, 0), MaxLife) / 10; tenth > 0 {
		times.Fresh -= mathrand.N(tenth)
	}
	return settlement{kind: kindValue, body: a.Value, age: a.Age + elapsed, times: times}
}

// fetch asks the origin by the first member's Fetch, leaves the answer in
// Redis under the nonce ("": leaves none), and answers.
func (f *flight) fetch(v verdict, nonce string) {
	g, first := f.group, f.early[0]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(first.ctx), first.policy.Timeout)
	stop := context.AfterFunc(g.ctx, cancel)

	started := time.Now()
	settled := f.keepLease(ctx, nonce)
	a, err := call(ctx, first.fetch, v.stored())
	settled()
	elapsed := time.Since(started)
	hold(&a, func() { stop(); cancel() })

	x := first.policy.settlement(a, err, elapsed)
	if err != nil && g.ctx.Err() != nil {
		f.settle(settlement{kind: kindNone}, nonce)
		f.tell(reply{err: ErrClosed})
		return
	}
	detail := f.settle(x, nonce)
	if nonce == "" {
		detail = string(v.text)
	}
	r := Result{
		Value: a.Value, Stream: a.Stream, Outcome: Miss, Refetched: v.has, Failed: a.Failed,
		Stored: detail == "" && x.kind == kindValue, TTL: x.times.Fresh - x.age, Age: a.Age + elapsed, Detail: detail,
	}
	own := reply{result: r}
	if err != nil {
		own.err = x.err
	}
	f.share(v, x, own, elapsed)
}

// share answers the early ones: the first with its own reply r, the others as
// the settlement allows, all with the stored value where the origin failed and
// it may stand in.
func (f *flight) share(v verdict, x settlement, r reply, elapsed time.Duration) {
	first := f.early[0]
	others := reply{result: r.result, err: x.err, pass: x.kind == kindPass}
	others.result.Collapsed, others.result.Stream = true, nil
	if (r.err != nil || r.result.Failed) && v.ifError() > elapsed {
		r.close()
		r = v.stale()
		r.result.Age, r.result.TTL = r.result.Age+elapsed, r.result.TTL-elapsed
		if r.result.Err = x.err; x.err == nil {
			r.result.Err = ErrOrigin
		}
		others = r
	}
	f.group.answer(f.early, func(m *member) reply {
		if m == first {
			return r
		}
		return others
	})
	f.early = nil
}

// settle writes x and decides who shares the answer: a caller who came during
// the fetch does only if the key was not invalidated since; with the lease
// lost, nobody knows. It returns the Detail of the result.
func (f *flight) settle(x settlement, nonce string) string {
	g := f.group
	g.mu.Lock()
	during, shared := f.late, !f.dropped
	f.late = nil
	g.mu.Unlock()

	detail := ""
	if nonce != "" {
		first := f.early[0]
		answer, err := g.store.settle(first.ctx, f.id.key, first.policy, nonce, x)
		switch {
		case err != nil:
			detail = DetailRedis
		case answer == "LOST":
			detail, shared = DetailLost, false
		case answer == "FULL":
			detail = DetailFull
		case x.kind == kindLarge:
			detail = DetailLarge
		}
	}
	if shared {
		f.early = append(f.early, during...)
		return detail
	}
	g.mu.Lock()
	f.late = append(during, f.late...)
	g.mu.Unlock()
	return detail
}

// keepLease renews the lease until the returned function is called, or until
// it is lost: then new callers begin a flight of their own.
func (f *flight) keepLease(ctx context.Context, nonce string) (settled func()) {
	if nonce == "" {
		return func() {}
	}
	ctx, settled = context.WithCancel(ctx)
	g, first := f.group, f.early[0]
	g.running.Go(func() {
		tick := time.NewTicker(max(first.policy.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !g.store.renew(ctx, f.id.key, first.policy, nonce) {
				g.mu.Lock()
				g.withdraw(f)
				g.mu.Unlock()
				return
			}
		}
	})
	return settled
}

// withdraw keeps new callers out of a flight. The mutex must be held.
func (g *Group) withdraw(f *flight) {
	if g.flights[f.id] == f {
		delete(g.flights, f.id)
	}
}
