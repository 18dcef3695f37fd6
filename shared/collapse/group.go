package collapse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client is what the package needs of Redis; *redis.Client is one. Contexts
// must bound its calls (go-redis: ContextTimeoutEnabled).
type Client interface {
	redis.Scripter
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// Options are the settings of a Group.
type Options struct {
	// Redis holds flights and answers, and need not be the Redis of anything
	// else. With nil the Group collapses in this process only.
	Redis Client

	// RedisTimeout bounds one call, with the client's own resends; when it has
	// passed, Redis is out of reach. Defaults to 1s.
	RedisTimeout time.Duration
}

// Group collapses reads. One serves all origins of an instance; it is safe
// for concurrent use.
type Group struct {
	store *store // nil: in this process only
	waker *waker
	poll  time.Duration

	ctx     context.Context // of all that runs beside the callers
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights map[flightID]*flight // those that a new caller may enter
	gates   map[Key]*gate
}

// New returns a Group, which the caller closes. It makes no connection before
// the first Do.
func New(o Options) *Group {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Group{poll: pollEvery, ctx: ctx, cancel: cancel, flights: map[flightID]*flight{}, gates: map[Key]*gate{}}
	if o.Redis != nil {
		g.store = newStore(o.Redis, o.RedisTimeout)
		g.waker = newWaker(o.Redis)
		g.running.Go(func() { g.waker.run(ctx) })
	}
	return g
}

// Close lets go: it cancels the fetches under way, gives their leases back so
// that another instance goes on at once, and answers the callers still waiting
// with ErrClosed. It returns when all that has ended; a Fetch that does not
// heed its context holds it up. The Redis client stays open.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.running.Wait()
}

// Do answers the read that key names: from what is stored, from the flight of
// another caller, or by fetch. Which of them, the Result says. Callers of one
// key should give equal policies; where they differ, each uses its own Wait,
// and a flight the rest of the caller who leads it.
//
// Errors: the cause of ctx when the caller leaves, ErrWait, ErrOrigin (the
// fetch failed and no stored value may stand in), ErrClosed. Redis out of
// reach is none.
func (g *Group) Do(ctx context.Context, key Key, policy Policy, fetch Fetch) (Result, error) {
	m := &member{ctx: ctx, policy: policy.withDefaults(), fetch: fetch, reply: make(chan reply, 1)}
	wait, cancel := context.WithTimeoutCause(ctx, m.policy.Wait, ErrWait)
	defer cancel()
	if err := g.enter(flightID{key, policy.Stamp}, m); err != nil {
		return Result{}, err
	}
	select {
	case r := <-m.reply:
		if r.pass {
			return g.pass(wait, key, m)
		}
		return r.result, r.err
	case <-wait.Done():
		g.leave(m)
		return Result{}, left(wait)
	}
}

// left says why a caller leaves without an answer.
func left(wait context.Context) error {
	if cause := context.Cause(wait); !errors.Is(cause, ErrWait) {
		return fmt.Errorf("collapse: the caller left: %w", cause)
	}
	return ErrWait
}

// Invalidate forgets what is stored for the read of key, in all its variants
// and under any stamp, and keeps every fetch of it that is under way from being
// stored or given to callers who come after it has returned. An error means
// that only this instance has done so.
func (g *Group) Invalidate(ctx context.Context, key Key) error {
	g.mu.Lock()
	for id, f := range g.flights {
		if id.key.Origin == key.Origin && id.key.Read == key.Read {
			f.dropped = true
			delete(g.flights, id)
		}
	}
	g.mu.Unlock()
	if g.store == nil {
		return nil
	}
	return g.store.invalidate(ctx, key)
}
