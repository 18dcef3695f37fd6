package engine

import (
	"math"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
)

// retryPolicy is a RetryConfig with its defaults filled in.
type retryPolicy struct {
	attempts  int32         // -1: no limit
	duration  time.Duration // since the first attempt; 0: no limit
	min, max  time.Duration
	doublings int32
}

func policyOf(c *cloudtaskspb.RetryConfig) retryPolicy {
	return retryPolicy{
		attempts:  c.GetMaxAttempts(),
		duration:  c.GetMaxRetryDuration().AsDuration(),
		min:       c.GetMinBackoff().AsDuration(),
		max:       c.GetMaxBackoff().AsDuration(),
		doublings: c.GetMaxDoublings(),
	}
}

// interval is the wait after the failed attempt number k, counted from 1: min
// doubles `doublings` times, then grows by the last doubled step, up to max.
func (p retryPolicy) interval(k int32) time.Duration {
	factor := math.Ldexp(1, int(min(k-1, p.doublings)))
	if k-1 > p.doublings {
		factor *= float64(k - p.doublings)
	}
	if wait := float64(p.min) * factor; wait < float64(p.max) {
		return time.Duration(wait)
	}
	return p.max
}

// spent reports whether a task that was first attempted at first is given up
// after its attempts-th failure at now.
func (p retryPolicy) spent(attempts int32, first, now time.Time) bool {
	byAttempts := p.attempts >= 0 && attempts >= p.attempts
	byDuration := p.duration > 0 && now.Sub(first) >= p.duration
	switch {
	case p.attempts < 0:
		return byDuration
	case p.duration == 0:
		return byAttempts
	default:
		return byAttempts && byDuration
	}
}
