package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// counted is a store that counts how often it is asked, and can be away.
type counted struct {
	Guard
	asked atomic.Int64
	away  atomic.Bool
}

func (c *counted) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error) {
	c.asked.Add(1)
	if c.away.Load() {
		return Answer{}, ErrUnavailable
	}
	return c.Guard.TryLock(ctx, key, fingerprint, lease)
}

func (c *counted) Release(ctx context.Context, token Token) error {
	if c.away.Load() {
		return ErrUnavailable
	}
	return c.Guard.Release(ctx, token)
}

func (c *counted) wantAsked(t *testing.T, n int64) {
	t.Helper()
	if got := c.asked.Swap(0); got != n {
		t.Errorf("the store was asked %d times, want %d", got, n)
	}
}

func newCounted(t *testing.T) *counted {
	m := NewMemory()
	t.Cleanup(m.Close)
	return &counted{Guard: m}
}

// Redis stops, for good, while the one handler runs and everyone waits.
func TestFallback_redisStopsHalfWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := firestoretest.Shared(t).Config()
	a, b := NewFallback(server.Client(), onFirestore(t, config)), NewFallback(server.Client(), onFirestore(t, config))

	entered, release := make(chan struct{}), make(chan struct{})
	var runs atomic.Int64
	first := make(chan string)
	go func() {
		outcome, err := Do(background, a, call, func(context.Context) ([]byte, error) {
			runs.Add(1)
			close(entered)
			<-release
			return []byte("the one result"), nil
		})
		first <- fmt.Sprint(string(outcome.Result), err)
	}()
	<-entered
	before := together(25, func(int) string { return stateOf(b.TryLock(background, order, "print", hour)) })
	if diff := cmp.Diff(map[string]int{"running": 25}, before); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	server.Kill()
	close(release)
	if got := <-first; got != "the one result<nil>" {
		t.Errorf("Do: %s", got)
	}
	after := together(25, func(i int) string {
		return untilDone([]Guard{a, b}[i%2], make(chan string, 1))
	})
	if diff := cmp.Diff(map[string]int{"the one result": 25}, after); diff != "" || runs.Load() != 1 {
		t.Errorf("%d runs; after (-want +got):\n%s", runs.Load(), diff)
	}
}

// An instance without Redis and one with it never both say yes.
func TestFallback_oneAuthority(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	dead := redistest.Start(t)
	store := newCounted(t)
	cut, connected := NewFallback(dead.Client(), store), NewFallback(server.Client(), store)
	dead.Kill()

	token := acquire(t, cut, hour)
	want(t, lock(t, connected, "print", hour), Running)
	accept(t, cut, token, "result")
	wantResult(t, connected, "result")
	want(t, lock(t, connected, "other print", hour), Mismatch)
}

func TestFallback_hints(t *testing.T) {
	t.Parallel()

	t.Run("repeated calls are answered without the store, also while it is away", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		a, b := NewFallback(redistest.Client(t, m), store), NewFallback(redistest.Client(t, m), store)
		token := acquire(t, a, hour)
		store.wantAsked(t, 1)
		store.away.Store(true)
		want(t, lock(t, b, "print", hour), Running)
		accept(t, a, token, "result")
		wantResult(t, b, "result")
		store.wantAsked(t, 0)
		other := ScopedKey{Scope: "s", Key: "new"}
		if _, err := b.TryLock(t.Context(), other, "print", hour); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a new key: %v, want ErrUnavailable", err)
		}
		for _, key := range m.Keys() {
			if m.TTL(key) <= 0 || m.TTL(key) > 15*time.Minute {
				t.Errorf("%s lives for %v, want at most 15m", key, m.TTL(key))
			}
		}
	})
	t.Run("an emptied Redis costs speed only", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		token := acquire(t, g, hour)
		m.FlushAll()
		want(t, lock(t, g, "print", hour), Running)
		accept(t, g, token, "result")
		m.FlushAll()
		wantResult(t, g, "result")
	})
	t.Run("a key that was released is free at once", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		if err := g.Release(t.Context(), acquire(t, g, hour)); err != nil {
			t.Fatal(err)
		}
		want(t, lock(t, g, "print", hour), Acquired)
	})
	t.Run("a stale hint refuses nobody for good", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		token := acquire(t, g, hour)
		if err := store.Release(t.Context(), token); err != nil { // Redis was not told
			t.Fatal(err)
		}
		want(t, lock(t, g, "other print", hour), Acquired) // no mismatch
	})
	t.Run("the hint of one who was overtaken gives way to the result", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		stale := acquire(t, g, hour)
		if err := store.Release(t.Context(), stale); err != nil {
			t.Fatal(err)
		}
		heir, err := store.TryLock(t.Context(), order, "print", hour)
		if err != nil {
			t.Fatal(err)
		}
		accept(t, g, heir.Token, "heir's")
		wantResult(t, g, "heir's")
	})
	t.Run("a release that failed keeps the hint", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		token := acquire(t, g, hour)
		store.away.Store(true)
		if err := g.Release(t.Context(), token); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Release: %v, want ErrUnavailable", err)
		}
		want(t, lock(t, g, "print", hour), Running)
	})
	t.Run("a large result is in the store only, and nobody is told that it runs", func(t *testing.T) {
		t.Parallel()
		m, store := redistest.Miniredis(t), newCounted(t)
		g := NewFallback(redistest.Client(t, m), store)
		large := strings.Repeat("r", 17<<10)
		accept(t, g, acquire(t, g, hour), large)
		wantResult(t, g, large)
		if len(m.Keys()) != 0 {
			t.Errorf("Redis holds %v", m.Keys())
		}
	})
}
