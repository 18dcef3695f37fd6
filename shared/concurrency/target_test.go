package concurrency_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/concurrency"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

// hasty is a clock on which time flies: every wait is over at once, and lasted.
type hasty struct {
	clock.System
	passed atomic.Int64
}

func (h *hasty) Now() time.Time {
	return time.UnixMilli(1796119200000).Add(time.Duration(h.passed.Load()))
}
func (h *hasty) After(d time.Duration) (<-chan time.Time, func()) {
	h.passed.Add(int64(d))
	return h.System.After(0)
}

func setup(t *testing.T, rdb *redis.Client, places int, work target.Func) *concurrency.Target {
	t.Helper()
	return &concurrency.Target{
		Target: work, Name: t.Name(), Places: places, Timeout: time.Second, Redis: rdb, Clock: clock.System{}, Random: clock.System{},
	}
}

func TestAtMostSoManyCallsAreUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		var running, most atomic.Int64
		limited := setup(t, rdb, 3, func(context.Context, target.Request) (target.Response, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			time.Sleep(5 * time.Millisecond) // the work of a handler
			return target.Response{Status: 200}, nil
		})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got := limited.Do(t.Context(), target.Request{}); got.Outcome != target.Accept {
					t.Errorf("%+v, want it accepted", got)
				}
			})
		}
		all.Wait()
		if n := most.Load(); n != 3 {
			t.Errorf("%d at one time, want 3", n)
		}
		if n := rdb.ZCard(t.Context(), "seriatim-target:{"+limited.Name+"}:running").Val(); n != 0 {
			t.Errorf("%d places not given back", n)
		}
	})
}

func TestWithoutAPlaceTheTurnIsGivenBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		started, end := make(chan struct{}), make(chan struct{})
		limited := setup(t, rdb, 1, func(context.Context, target.Request) (target.Response, error) {
			close(started)
			<-end
			return target.Response{Status: 200}, nil
		})
		ended := make(chan target.Result)
		go func() { ended <- limited.Do(t.Context(), target.Request{}) }()
		<-started
		other := setup(t, rdb, 1, nil)
		other.Clock = &hasty{}
		if got := other.Do(t.Context(), target.Request{}); got.Outcome != target.Retry || got.Reason != concurrency.ReasonBusy ||
			got.Counts || got.RetryAfter != time.Second || got.Err == nil {
			t.Errorf("%+v, want a retry in a second that does not count", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if got := other.Do(gone, target.Request{}); got.Outcome != target.Retry || got.Counts {
			t.Errorf("cancelled: %+v, want a retry", got)
		}
		close(end)
		if got := <-ended; got.Outcome != target.Accept {
			t.Errorf("%+v, want it accepted", got)
		}
	})
}

func TestThePlaceOfADeadOwnerFallsFree(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	key := "seriatim-target:{" + t.Name() + "}:running"
	if err := rdb.ZAdd(t.Context(), key, redis.Z{Score: float64(time.Now().Add(50 * time.Millisecond).UnixMilli()), Member: "dead"}).Err(); err != nil {
		t.Fatal(err)
	}
	limited := setup(t, rdb, 1, func(context.Context, target.Request) (target.Response, error) {
		return target.Response{Status: 200}, nil
	})
	if got := limited.Do(t.Context(), target.Request{}); got.Outcome != target.Accept {
		t.Errorf("%+v, want it accepted", got)
	}
	if left := rdb.PTTL(t.Context(), key).Val(); left > 31*time.Second {
		t.Errorf("the key lives %v, want no longer than the lease", left)
	}
}

func TestWithoutRedisNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limited := setup(t, server.Client(), 1, nil)
	server.Kill()
	if got := limited.Do(t.Context(), target.Request{}); got.Outcome != target.Retry || got.Counts || got.Err == nil {
		t.Errorf("%+v, want a retry that does not count", got)
	}
}
