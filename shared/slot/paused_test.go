package slot_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// mute is a Redis that does not answer until the test is over.
type mute struct{ over <-chan struct{} }

func (m mute) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) {
		<-m.over
		return nil, net.ErrClosed
	}
}
func (mute) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (mute) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestPausedTargetsHoldNobodyUp: a renewal that waited for them would let a run go on past its lease.
func TestPausedTargetsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	rdb := redis.NewClient(&redis.Options{MaxRetries: -1})
	rdb.AddHook(mute{over})
	t.Cleanup(func() {
		close(over)
		_ = rdb.Close()
	})
	targets := slot.NewPausedTargets(rdb, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, err := targets.List(ctx)
		answered <- err
	}()
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the caller has gone", err)
	}
}

// unreadable is a Redis that refuses to list a set.
type unreadable struct {
	mute

	down *atomic.Bool
}

func (unreadable) DialHook(next redis.DialHook) redis.DialHook { return next }
func (u unreadable) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if u.down.Load() && cmd.Name() == "smembers" {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		return next(ctx, cmd)
	}
}

func TestPausedTargetsOfLongAgoAreNotBelieved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		down, now := &atomic.Bool{}, time.Now()
		rdb.AddHook(unreadable{down: down})
		targets, other := slot.NewPausedTargets(rdb, func() time.Time { return now }), slot.NewPausedTargets(rdb, time.Now)
		pause := func(name string) {
			t.Helper()
			if err := other.Set(t.Context(), name, true); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, names ...string) {
			t.Helper()
			got, err := targets.List(t.Context())
			if names == nil && !errors.Is(err, io.ErrUnexpectedEOF) || names != nil && (err != nil || !slices.Equal(got, names)) {
				t.Errorf("%s: %v, %v; want %v", what, got, err, names)
			}
		}
		pause("billing")
		down.Store(true)
		want("never read")
		down.Store(false)
		want("the very next call reads again", "billing")
		pause("shop")
		down.Store(true)
		now = now.Add(9 * time.Second)
		want("while Redis fails over", "billing")
		now = now.Add(time.Second)
		want("idle for long, and the one read fails")
		want("asked again")
		if targets.Has(t.Context(), "billing") {
			t.Error("it is known to be paused")
		}
		down.Store(false)
		want("readable", "billing", "shop")
	})
}
