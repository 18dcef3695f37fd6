package collapse

import (
	"context"
	"fmt"
	"time"
)

// gate gives turns to the callers that pass for one key.
type gate struct {
	turns chan struct{}
	users int // who hold a turn or wait for one; guarded by the group's mutex
}

// pass fetches for one caller alone, when it is its turn. wait bounds how long
// that may take to come.
func (g *Group) pass(wait context.Context, key Key, m *member) (Result, error) {
	done, err := g.turn(wait, key, m.policy.Passes)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(m.ctx, m.policy.Timeout)
	stop := context.AfterFunc(g.ctx, cancel)
	started := time.Now()
	a, err := call(ctx, m.fetch, nil)
	hold(&a, func() { stop(); cancel(); done() })
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	return Result{Value: a.Value, Stream: a.Stream, Outcome: Pass, Failed: a.Failed, Age: a.Age + time.Since(started)}, nil
}

// turn waits until fewer than most pass for key. Turns are given in the order
// of asking; done gives one back.
func (g *Group) turn(wait context.Context, key Key, most int) (done func(), err error) {
	g.mu.Lock()
	t := g.gates[key]
	if t == nil {
		t = &gate{turns: make(chan struct{}, most)}
		g.gates[key] = t
	}
	t.users++
	g.mu.Unlock()

	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(g.gates, key)
		}
	}
	select {
	case t.turns <- struct{}{}:
		return func() { <-t.turns; leave() }, nil
	case <-wait.Done():
		leave()
		return nil, left(wait)
	case <-g.ctx.Done():
		leave()
		return nil, ErrClosed
	}
}
