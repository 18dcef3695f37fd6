package idempotency

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"
)

// writers is the number of groups of a Memory. Keys of different groups do not
// wait for each other.
const writers = 16

// Memory is a [Guard] in the memory of one process, for tests and for work
// that only one process ever does: between two instances it excludes nothing,
// and a restart forgets everything. Each group of keys has a single writer, a
// goroutine that alone touches their state.
type Memory struct {
	seed  maphash.Seed
	steps [writers]chan func(*group)
	once  sync.Once
	stop  chan struct{}
}

// group is what one writer owns.
type group struct {
	keys  map[string]held
	sweep int // the number of keys at which expired ones are looked for
}

var _ Guard = (*Memory)(nil)

// NewMemory returns an empty Memory. Close ends its goroutines.
func NewMemory() *Memory {
	m := &Memory{seed: maphash.MakeSeed(), stop: make(chan struct{})}
	for i := range m.steps {
		m.steps[i] = make(chan func(*group))
		go m.write(m.steps[i])
	}
	return m
}

// Close ends the goroutines and forgets all keys. Calls after it, and those in
// flight, fail with ErrUnavailable.
func (m *Memory) Close() { m.once.Do(func() { close(m.stop) }) }

func (m *Memory) write(steps <-chan func(*group)) {
	g := &group{keys: map[string]held{}, sweep: 64}
	for {
		select {
		case step := <-steps:
			step(g)
		case <-m.stop:
			return
		}
	}
}

// do has the key's writer run step, and waits for it.
func (m *Memory) do(ctx context.Context, key string, step func(*group)) error {
	done := make(chan struct{})
	queue := m.steps[maphash.String(m.seed, key)%writers]
	select {
	case queue <- func(g *group) { defer close(done); step(g) }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.stop:
		return fmt.Errorf("%w: %w", ErrUnavailable, errClosed)
	}
}

var errClosed = errors.New("the guard is closed")

// TryLock implements [Guard].
func (m *Memory) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (answer Answer, err error) {
	if err := checkLock(ctx, key, fingerprint, lease); err != nil {
		return Answer{}, err
	}
	token, hash := newToken(key, fingerprint), key.hash()
	err = m.do(ctx, hash, func(g *group) {
		now := time.Now()
		if h := g.keys[hash]; h.live(now) {
			answer = h.answer(fingerprint, now)
			return
		}
		g.put(hash, held{owner: token.owner, fingerprint: fingerprint, ends: now.Add(lease)}, now)
		answer = Answer{State: Acquired, Token: token}
	})
	return answer, err
}

// Accept implements [Guard]. It keeps result, which must not be changed.
func (m *Memory) Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error {
	if err := checkAccept(token, result, retention); err != nil {
		return err
	}
	return m.settle(ctx, token, func(g *group, hash string, h held, now time.Time) error {
		if h.owner == token.owner && h.done {
			return nil
		}
		g.put(hash, held{token.owner, token.fingerprint, true, result, now.Add(retention)}, now)
		return nil
	})
}

// Release implements [Guard].
func (m *Memory) Release(ctx context.Context, token Token) error {
	if err := checkToken(token); err != nil {
		return err
	}
	return m.settle(ctx, token, func(g *group, hash string, h held, _ time.Time) error {
		if h.done {
			return ErrLost
		}
		delete(g.keys, hash)
		return nil
	})
}

// settle runs step with what the token's key is: free, or the token's own.
func (m *Memory) settle(ctx context.Context, token Token, step func(*group, string, held, time.Time) error) error {
	var err error
	hash := token.key.hash()
	sent := m.do(ctx, hash, func(g *group) {
		now := time.Now()
		h := g.keys[hash]
		if !h.live(now) {
			h = held{}
		}
		if h.owner != "" && h.owner != token.owner {
			err = ErrLost
			return
		}
		err = step(g, hash, h, now)
	})
	return errors.Join(sent, err)
}

// put stores h, and now and then drops what has expired: the map is never
// larger than twice its live keys, or 64.
func (g *group) put(hash string, h held, now time.Time) {
	if len(g.keys) >= g.sweep {
		for k, old := range g.keys {
			if !old.live(now) {
				delete(g.keys, k)
			}
		}
		g.sweep = max(64, 2*len(g.keys))
	}
	g.keys[hash] = h
}
