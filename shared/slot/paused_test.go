package slot_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
	answered := make(chan []string)
	go func() { answered <- targets.List(ctx) }()
	cancel()
	if names := <-answered; names != nil {
		t.Errorf("%v, want none known", names)
	}
}
