package slot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ExchangeEvery is how often an instance exchanges what it has learned about a policy's intervals.
const ExchangeEvery = 10 * time.Second

const (
	exchangeLife = time.Hour
	newSample    = 0.2 // weight of a lane's interval in the policy's average
)

// Intervals keeps, per policy, an average of the start-to-start times that its lanes have shown lately. A new lane begins with
// it. Instances exchange it through one Redis key per policy, outside scripts and only while a request is being served:
// nothing runs in the background. A nil *Intervals knows nothing. It is safe for concurrent use.
type Intervals struct {
	rdb redis.Cmdable
	now func() time.Time

	mu       sync.Mutex
	policies map[string]*learned
}

type learned struct {
	average   time.Duration
	exchanged time.Time
}

// NewIntervals returns an Intervals that exchanges through rdb, on the clock now.
func NewIntervals(rdb redis.Cmdable, now func() time.Time) *Intervals {
	return &Intervals{rdb: rdb, now: now, policies: map[string]*learned{}}
}

func (i *Intervals) guess(policy string) time.Duration {
	if i == nil {
		return ColdInterval
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if p := i.policies[policy]; p != nil && p.average > 0 {
		return p.average
	}
	return ColdInterval
}

func (i *Intervals) observe(policy string, interval time.Duration) {
	if i == nil || interval <= 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.policy(policy).add(interval)
}

func (i *Intervals) policy(name string) *learned {
	p := i.policies[name]
	if p == nil {
		p = &learned{}
		i.policies[name] = p
	}
	return p
}

func (p *learned) add(interval time.Duration) {
	if p.average == 0 {
		p.average = interval
		return
	}
	p.average += time.Duration(newSample * float64(interval-p.average))
}

// Exchange averages with the other instances if ExchangeEvery has passed since the last time, else it does nothing. Callers
// run it while they serve a request of the policy.
func (i *Intervals) Exchange(ctx context.Context, policy string) error {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	p, now := i.policy(policy), i.now()
	due := now.Sub(p.exchanged) >= ExchangeEvery
	if due {
		p.exchanged = now
	}
	i.mu.Unlock()
	if !due {
		return nil
	}
	theirs, err := i.rdb.Get(ctx, intervalKey(policy)).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("exchange interval of policy %q: %w", policy, err)
	}
	i.mu.Lock()
	if theirs > 0 {
		other := time.Duration(theirs) * time.Microsecond
		if p.average == 0 {
			p.average = other
		}
		p.average = (p.average + other) / 2
	}
	ours := p.average
	i.mu.Unlock()
	if ours == 0 {
		return nil
	}
	if err := i.rdb.Set(ctx, intervalKey(policy), ours.Microseconds(), exchangeLife).Err(); err != nil {
		return fmt.Errorf("exchange interval of policy %q: %w", policy, err)
	}
	return nil
}
