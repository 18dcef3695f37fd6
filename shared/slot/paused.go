package slot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// PausedWithin is how soon every instance knows that a target was paused or resumed.
const PausedWithin = time.Second

// pausedLife is how long a target stays paused when nobody resumes it: every key expires.
const pausedLife = 366 * 24 * time.Hour

// PausedTargets are the targets against which nothing starts. They are one Redis set, outside the lanes, that every instance
// reads again once it is PausedWithin old, while it serves a request. A nil *PausedTargets has none. It is safe for
// concurrent use.
type PausedTargets struct {
	// Lasting keeps what Redis may lose. Nil: a loss of Redis resumes every target. Set it before the first call.
	Lasting PausedStore

	rdb redis.Cmdable
	now func() time.Time

	reads singleflight.Group
	mu    sync.Mutex
	names []string // sorted
	read  time.Time
}

// NewPausedTargets returns those that rdb holds, on the clock now.
func NewPausedTargets(rdb redis.Cmdable, now func() time.Time) *PausedTargets {
	return &PausedTargets{rdb: rdb, now: now}
}

// Set pauses a target or lets it go on. This instance knows at once, the others within PausedWithin. The error is of Lasting or
// of Redis. A target that Lasting failed to pause is paused nevertheless, as long as Redis lives; one that it failed to resume
// stays paused.
func (p *PausedTargets) Set(ctx context.Context, name string, paused bool) error {
	var lasting error
	if p.Lasting != nil { // before Redis: see Restore
		lasting = p.Lasting.PauseTarget(ctx, name, paused)
	}
	if lasting == nil || paused {
		lasting = errors.Join(lasting, p.write(ctx, name, paused))
		p.fetch(ctx)
	}
	if lasting != nil {
		return fmt.Errorf("pause target %q (%t): %w", name, paused, lasting)
	}
	return nil
}

func (p *PausedTargets) write(ctx context.Context, name string, paused bool) error {
	_, err := p.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		if paused {
			tx.SAdd(ctx, pausedKey, name)
			tx.PExpire(ctx, pausedKey, pausedLife)
		} else {
			tx.SRem(ctx, pausedKey, name)
		}
		return nil
	})
	return err
}

// Has says whether a target is paused.
func (p *PausedTargets) Has(ctx context.Context, name string) bool {
	_, found := slices.BinarySearch(p.List(ctx), name)
	return found
}

// List returns the names, sorted. A Redis out of reach leaves what was known: nothing starts without Redis anyway.
func (p *PausedTargets) List(ctx context.Context) []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	age, first := p.now().Sub(p.read), p.read.IsZero()
	if age < PausedWithin && !first {
		defer p.mu.Unlock()
		return p.names
	}
	if !first {
		p.read = p.now() // one caller reads; the others go on with what is known
	}
	p.mu.Unlock()
	p.fetch(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names
}

// fetch reads the names, for all who ask meanwhile. A caller whose time is over, such as a renewal under a lease that ends, does
// not wait for it.
func (p *PausedTargets) fetch(ctx context.Context) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _, _ = p.reads.Do("", func() (any, error) {
			names, err := p.rdb.SMembers(context.WithoutCancel(ctx), pausedKey).Result()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.read = p.now()
			if err == nil {
				slices.Sort(names)
				p.names = names
			}
			return nil, err
		})
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// words is names as the scripts take them: '|name|name|', empty for none.
func words(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "|" + strings.Join(names, "|") + "|"
}
