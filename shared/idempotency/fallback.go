package idempotency

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
)

const (
	// hintTimeout bounds what Redis may add to a call that Firestore decides.
	hintTimeout = 250 * time.Millisecond
	// retreat is how long Redis is left alone once it could not be reached.
	retreat = time.Second
	// hintLife and hintSize bound the results that Redis holds beside the store:
	// it runs without eviction. A repeated call mostly comes soon.
	hintLife = 15 * time.Minute
	hintSize = 16 << 10
)

// Fallback is a [Guard] over two stores. One of them, such as a [Firestore],
// alone locks, accepts and releases: two authorities would both say yes when
// an instance reaches only one. Redis before it holds hints of what the store
// decided, and answers repeated calls sooner: those whose result is stored, and
// those that find the operation running. Without Redis, or with an emptied one,
// nothing but that speed is lost.
//
// A hint ends with what it tells of at the latest, but for the seconds of a
// repeated Accept; one of a result after 15 minutes, and a result above 16 KiB
// has none. A hint that could not be taken back may answer Running up to the
// end of a lease that was released.
type Fallback struct {
	store Guard
	hints Redis
	since time.Time    // to count retreat on the monotonic clock
	until atomic.Int64 // end of the retreat, after since
}

var _ Guard = (*Fallback)(nil)

// NewFallback returns a Guard in which store decides. rdb may be shared with a
// [Redis] guard, whose keys have other names.
func NewFallback(rdb redis.Scripter, store Guard) *Fallback {
	return &Fallback{store: store, hints: Redis{rdb: rdb, prefix: "seriatim-guard-hint"}, since: time.Now()}
}

// TryLock implements [Guard].
func (g *Fallback) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error) {
	if err := checkLock(ctx, key, fingerprint, lease); err != nil {
		return Answer{}, err
	}
	var hint Answer
	g.hint(ctx, func(ctx context.Context) (err error) {
		hint, err = g.hints.lock(ctx, Token{key: key, fingerprint: fingerprint}, 0)
		return err
	})
	// A mismatch with a lock that was released would be a wrong refusal.
	if hint.State == Done || hint.State == Running {
		return hint, nil
	}
	began := time.Now()
	answer, err := g.store.TryLock(ctx, key, fingerprint, lease)
	if left := lease - time.Since(began); err == nil && answer.State == Acquired && left > 0 {
		g.hint(ctx, func(ctx context.Context) error {
			_, err := g.hints.lock(ctx, answer.Token, left)
			return err
		})
	}
	return answer, err
}

// Accept implements [Guard].
func (g *Fallback) Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error {
	began := time.Now()
	if err := g.store.Accept(ctx, token, result, retention); err != nil {
		return err
	}
	left := min(retention-time.Since(began), hintLife)
	g.hint(ctx, func(ctx context.Context) error {
		if left <= 0 || len(result) > hintSize {
			return g.hints.Release(ctx, token) // it is running no more
		}
		return g.hints.accept(ctx, token, result, left, true)
	})
	return nil
}

// Release implements [Guard].
func (g *Fallback) Release(ctx context.Context, token Token) error {
	if err := g.store.Release(ctx, token); err != nil {
		return err
	}
	g.hint(ctx, func(ctx context.Context) error { return g.hints.Release(ctx, token) })
	return nil
}

// hint calls Redis, briefly, and leaves it alone for a while after it could not
// be reached. What it answers else, a hint of another for example, is no matter
// of the caller's.
func (g *Fallback) hint(ctx context.Context, call func(context.Context) error) {
	if int64(time.Since(g.since)) < g.until.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	if err := call(ctx); redisconn.IsUnreachable(err) {
		g.until.Store(int64(time.Since(g.since) + retreat))
	}
}
