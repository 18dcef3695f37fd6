package marks

import (
	"context"
	"sync"
	"time"
)

// Memory is a store in the memory of one process: the emulator's default, and a double in tests. It never fails with
// ErrUnavailable, and is safe for concurrent use.
type Memory struct {
	verbs
	now func() time.Time

	mu    sync.Mutex
	held  map[string]mortal
	sweep int // the number of documents at which dead ones are looked for
}

type mortal struct {
	content
	expireAt time.Time
}

// minSweep is the least number of documents at which dead ones are looked for.
const minSweep = 1024

// NewMemory returns an empty store on the clock now, for example time.Now.
func NewMemory(now func() time.Time) *Memory {
	m := &Memory{now: now, held: map[string]mortal{}, sweep: minSweep}
	m.documents = m
	return m
}

func (m *Memory) read(_ context.Context, name string) (content, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive(name), nil
}

func (m *Memory) change(_ context.Context, name string, change func(*content)) (content, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.alive(name)
	next := held.clone()
	change(&next)
	if !next.equal(held) {
		m.drop()
		m.held[name] = mortal{next, m.now().Add(next.life())}
	}
	return next.clone(), nil
}

func (m *Memory) alive(name string) content {
	if held := m.held[name]; m.now().Before(held.expireAt) {
		return held.clone()
	}
	return content{}
}

// drop forgets what is past its life, now and then: there are never more than twice as many documents as alive ones, or minSweep.
func (m *Memory) drop() {
	if len(m.held) < m.sweep {
		return
	}
	for name, held := range m.held {
		if !m.now().Before(held.expireAt) {
			delete(m.held, name)
		}
	}
	m.sweep = max(minSweep, 2*len(m.held))
}
