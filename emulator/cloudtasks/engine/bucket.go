package engine

import (
	"math"
	"time"
)

// maxInterval bounds the time between two tokens (2.3 years), so that the
// throttle's shift cannot overflow.
const maxInterval = time.Duration(1 << 56)

// bucket is a token bucket in its exact integer form (GCRA): instead of a
// fraction of a token it keeps the instant at which the bucket is full again.
type bucket struct {
	interval time.Duration // time in which one token grows
	burst    int64         // tokens that a full bucket holds, at least 1
	full     time.Time
}

// tokenInterval is the time between two tokens at a rate per second.
func tokenInterval(rate float64) time.Duration {
	interval := float64(time.Second) / rate
	if interval >= float64(maxInterval) {
		return maxInterval
	}
	return max(1, time.Duration(interval))
}

// next is the instant from which a token is there.
func (b *bucket) next() time.Time {
	spare := time.Duration(math.MaxInt64)
	if b.burst-1 <= int64(spare/b.interval) {
		spare = time.Duration(b.burst-1) * b.interval
	}
	return b.full.Add(-spare)
}

// spend takes one token at now, which must not lie before next.
func (b *bucket) spend(now time.Time) { b.full = later(b.full, now).Add(b.interval) }

// set changes rate and size; the tokens in the bucket stay, up to the new
// size. A new bucket is full.
func (b *bucket) set(now time.Time, interval time.Duration, burst int64) {
	burst = max(1, burst)
	if b.interval > 0 {
		missing := max(0, float64(b.full.Sub(now))/float64(b.interval)) + float64(burst-b.burst)
		wait := max(0, missing) * float64(interval)
		b.full = now.Add(time.Duration(min(wait, math.MaxInt64/2)))
	}
	b.interval, b.burst = interval, burst
}

// later is the later of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
