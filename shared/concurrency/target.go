package concurrency

import (
	"context"
	_ "embed" // the script
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/target"
)

// ReasonBusy is the [target.Result] reason of a run that found no place in time. Nothing was sent, and it is no attempt.
const ReasonBusy = "target-busy"

const (
	// patience is how long a run waits for a place before it gives its turn back, and busyRetry when it then comes again.
	patience, busyRetry = 10 * time.Second, time.Second
	// look is how often one that waits looks again.
	look = 100 * time.Millisecond
	// slack is what a place outlives the longest call by: one is given back late only by an owner that died.
	slack = 30 * time.Second
)

//go:embed acquire.lua
var acquireLua string

var acquireScript = redis.NewScript(acquireLua)

// Target is a target with so many places. It is safe for concurrent use.
type Target struct {
	target.Target
	// Name is the target's, and that of its places: all instances that use it share them.
	Name string
	// Places is how many calls may be under way at one time, 1 or more.
	Places int
	// Timeout bounds one call; a place is leased for it and 30 s more.
	Timeout time.Duration
	Redis   redis.Cmdable
	Clock   clock.Clock
	Random  clock.Random
}

// Do waits up to 10 s for a place and makes the attempt. Without a place, or without a Redis that could give one, the result is
// a Retry with ReasonBusy that does not count. Those that wait have no order among each other: each is the head of its lane.
func (t *Target) Do(ctx context.Context, req target.Request) target.Result {
	owner := t.Random.Nonce()
	taken, err := t.wait(ctx, owner)
	if !taken {
		return target.Result{Outcome: target.Retry, Reason: ReasonBusy, RetryAfter: busyRetry, Err: err}
	}
	defer t.free(ctx, owner)
	return t.Target.Do(ctx, req)
}

func (t *Target) wait(ctx context.Context, owner string) (bool, error) {
	for began := t.Clock.Now(); ; {
		taken, err := acquireScript.Run(ctx, t.Redis, []string{t.key()}, owner, t.Places, (t.Timeout + slack).Milliseconds()).Bool()
		if err != nil {
			t.free(ctx, owner) // it may have been taken
			return false, fmt.Errorf("take a place of target %q: %w", t.Name, err)
		}
		if taken {
			return true, nil
		}
		if t.Clock.Now().Sub(began) > patience {
			return false, fmt.Errorf("target %q: all %d places are taken", t.Name, t.Places)
		}
		if err := clock.Sleep(ctx, t.Clock, time.Duration(float64(look)*t.Random.Jitter(0.5))); err != nil {
			return false, err
		}
	}
}

// free gives the place back; where that fails the lease does.
func (t *Target) free(ctx context.Context, owner string) {
	_ = t.Redis.ZRem(context.WithoutCancel(ctx), t.key(), owner).Err()
}

func (t *Target) key() string { return "seriatim-target:{" + url.PathEscape(t.Name) + "}:running" }
