package collapse

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// bundle is an instance with an origin that counts and, where a test wants it,
// waits.
type bundle struct {
	*Group
	origin *origin
	key    Key
}

func setup(t *testing.T, rdb *redis.Client) *bundle {
	t.Helper()
	return beside(t, rdb, &origin{t: t})
}

// beside is setup for one more instance in front of the same origin.
func beside(t *testing.T, rdb *redis.Client, o *origin) *bundle {
	t.Helper()
	options := Options{RedisTimeout: time.Minute} // a loaded machine is not a lost Redis
	if rdb != nil {
		options.Redis = rdb
	}
	g := New(options)
	t.Cleanup(g.Close)
	return &bundle{Group: g, origin: o, key: Key{Origin: "shop", Read: "/price?of=pear"}}
}

// do reads with a policy of one minute.
func (b *bundle) do(t *testing.T, change ...func(*Policy)) (Result, error) {
	t.Helper()
	p := Policy{Times: Times{Fresh: time.Minute}, Timeout: time.Minute, Lease: time.Minute, NegativeTTL: time.Minute}
	for _, c := range change {
		c(&p)
	}
	return b.Do(t.Context(), b.key, p, b.origin.fetch)
}

// must is do, without an error.
func (b *bundle) must(t *testing.T, change ...func(*Policy)) Result {
	t.Helper()
	r, err := b.do(t, change...)
	if err != nil {
		t.Fatalf("Do: %v", err)
	}
	return r
}

// many starts n callers and returns what collects their results.
func (b *bundle) many(t *testing.T, n int, change ...func(*Policy)) func() []answered {
	t.Helper()
	results := make(chan answered, n)
	for range n {
		go func() {
			r, err := b.do(t, change...)
			results <- answered{r, err}
		}()
	}
	return func() []answered {
		t.Helper()
		all := make([]answered, n)
		for i := range all {
			all[i] = <-results
		}
		return all
	}
}

type answered struct {
	Result
	err error
}

// waiting blocks until n callers of the instance wait for the fetch under way.
func (b *bundle) waiting(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d callers wait", n), func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		late := 0
		for _, f := range b.flights {
			late += len(f.late)
		}
		return late == n
	})
}

// following blocks until n instances listen for the key.
func (b *bundle) following(t *testing.T, rdb *redis.Client, n int64) {
	t.Helper()
	channel := b.key.epoch()
	eventually(t, fmt.Sprintf("%d instances listen", n), func() bool {
		return rdb.PubSubNumSub(t.Context(), channel).Val()[channel] == n
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil || t.Failed() {
			t.Fatalf("never came: %s", what)
		}
		runtime.Gosched()
	}
}

// origin answers "answer 1", "answer 2", …
type origin struct {
	t     *testing.T
	calls atomic.Int64
	now   atomic.Int64 // calls under way
	most  atomic.Int64
	hook  func(ctx context.Context, call int64, stored *Stored) (Answer, error)
}

func (o *origin) fetch(ctx context.Context, stored *Stored) (Answer, error) {
	call := o.calls.Add(1)
	defer o.now.Add(-1)
	for now := o.now.Add(1); ; {
		most := o.most.Load()
		if now <= most || o.most.CompareAndSwap(most, now) {
			break
		}
	}
	if o.hook != nil {
		return o.hook(ctx, call, stored)
	}
	return Answer{Value: fmt.Appendf(nil, "answer %d", call)}, nil
}

func (o *origin) called(t *testing.T, want int64) {
	t.Helper()
	if got := o.calls.Load(); got != want {
		t.Errorf("origin calls: %d, want %d", got, want)
	}
}

// gated makes call 1 announce itself and wait; the others answer at once.
func (o *origin) gated() (entered <-chan struct{}, release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	o.hook = func(ctx context.Context, call int64, _ *Stored) (Answer, error) {
		if call == 1 {
			close(in)
			select {
			case <-out:
			case <-ctx.Done():
				return Answer{}, context.Cause(ctx)
			}
		}
		return Answer{Value: fmt.Appendf(nil, "answer %d", call)}, nil
	}
	return in, func() { close(out) }
}

// answers gives the same answer to every call.
func answers(a Answer, err error) func(context.Context, int64, *Stored) (Answer, error) {
	return func(context.Context, int64, *Stored) (Answer, error) { return a, err }
}

// waitsInRedis blocks until a flight of the instance waits for a leader.
func (b *bundle) waitsInRedis(t *testing.T) {
	t.Helper()
	eventually(t, "a flight waits for a leader", func() bool {
		b.waker.mu.Lock()
		defer b.waker.mu.Unlock()
		return len(b.waker.watches) > 0
	})
}
