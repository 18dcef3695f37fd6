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

// PausedWithin is how soon every instance knows that a target was paused or resumed, while Redis answers it.
const PausedWithin = time.Second

// pausedKnown is how long what was read is gone by while reads fail: longer than a failover takes.
const pausedKnown = 10 * time.Second

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
	tried time.Time // last, whatever came of it
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
		p.reads.Forget("") // what is being read may be of before
		_ = p.fetch(ctx)   // the next caller tries again
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

// Has says whether a target is known to be paused.
func (p *PausedTargets) Has(ctx context.Context, name string) bool {
	names, err := p.List(ctx)
	_, found := slices.BinarySearch(names, name)
	return err == nil && found
}

// List returns the names, sorted, as they were at most PausedWithin ago. While they cannot be read it returns what was read up to 10 s
// ago, and then the error of Redis: nothing may start, since a target may have been paused meanwhile.
func (p *PausedTargets) List(ctx context.Context) ([]string, error) {
	if p == nil {
		return nil, nil
	}
	names, known := p.known()
	if known {
		return names, nil
	}
	err := p.fetch(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.age() >= pausedKnown {
		return nil, fmt.Errorf("list paused targets: %w", err)
	}
	return p.names, nil
}

// known returns the names, and whether they will do. Of those who find them somewhat old one reads, and the others go on.
func (p *PausedTargets) known() (names []string, will bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age, now := p.age(), p.now()
	if age < PausedWithin || age < pausedKnown && now.Sub(p.tried) < PausedWithin {
		return p.names, true
	}
	p.tried = now
	return nil, false
}

// age is how old the names are; what was never read is very old.
func (p *PausedTargets) age() time.Duration { return p.now().Sub(p.read) }

// fetch reads the names, for all who ask meanwhile. A caller whose time is over, such as a renewal under a lease that ends, does
// not wait for it.
func (p *PausedTargets) fetch(ctx context.Context) error {
	var failed error
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, failed, _ = p.reads.Do("", func() (any, error) { return nil, p.readNow(context.WithoutCancel(ctx)) })
	}()
	select {
	case <-over:
		return failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *PausedTargets) readNow(ctx context.Context) error {
	began := p.now()
	names, err := p.rdb.SMembers(ctx, pausedKey).Result()
	if err != nil {
		return err
	}
	slices.Sort(names)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !began.Before(p.read) {
		p.names, p.read = names, began
	}
	return nil
}

// words is names as the scripts take them: '|name|name|', empty for none.
func words(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "|" + strings.Join(names, "|") + "|"
}
