package engine

import (
	"math"
	"slices"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// What a queue gets where its configuration says nothing.
const (
	defaultRate        = 500
	defaultConcurrency = 1000
	defaultAttempts    = 100
	defaultMinBackoff  = 100 * time.Millisecond
	defaultMaxBackoff  = time.Hour
	defaultDoublings   = 16

	maxRate        = 500
	maxConcurrency = 5000

	// maxBurst bounds the bucket of a queue whose burst the service chooses:
	// 100 for the default rate, as queues describe shows it.
	maxBurst = 100
)

// complete fills the defaults into q, in place.
func complete(q *cloudtaskspb.Queue) {
	completeLimits(q)
	if q.RetryConfig == nil {
		q.RetryConfig = &cloudtaskspb.RetryConfig{}
	}
	completeRetry(q.RetryConfig)
}

// completeLimits chooses a burst of 0 or less by the rate.
func completeLimits(q *cloudtaskspb.Queue) {
	if q.RateLimits == nil {
		q.RateLimits = &cloudtaskspb.RateLimits{}
	}
	limits := q.RateLimits
	if limits.MaxDispatchesPerSecond == 0 {
		limits.MaxDispatchesPerSecond = defaultRate
	}
	if limits.MaxConcurrentDispatches == 0 {
		limits.MaxConcurrentDispatches = defaultConcurrency
	}
	if limits.MaxBurstSize <= 0 {
		limits.MaxBurstSize = int32(min(maxBurst, math.Ceil(limits.MaxDispatchesPerSecond)))
	}
}

func completeRetry(c *cloudtaskspb.RetryConfig) {
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultAttempts
	}
	if c.MaxDoublings == 0 {
		c.MaxDoublings = defaultDoublings
	}
	completeBackoff(c)
}

// completeBackoff fills in back-offs; where only one is given, the other's
// default yields to it.
func completeBackoff(c *cloudtaskspb.RetryConfig) {
	if c.MaxBackoff == nil {
		c.MaxBackoff = durationpb.New(max(defaultMaxBackoff, c.GetMinBackoff().AsDuration()))
	}
	if c.MinBackoff == nil {
		c.MinBackoff = durationpb.New(min(defaultMinBackoff, c.GetMaxBackoff().AsDuration()))
	}
}

// checkQueue refuses a configuration that the service refuses.
func checkQueue(q *cloudtaskspb.Queue) error {
	limits := q.GetRateLimits()
	switch rate, concurrent := limits.GetMaxDispatchesPerSecond(), limits.GetMaxConcurrentDispatches(); {
	case rate < 0:
		return invalid("RateLimits.maxDispatchesPerSecond cannot be negative.")
	case !(rate <= maxRate):
		return invalid("RateLimits.maxDispatchesPerSecond must be less than or equal to %d.", maxRate)
	case concurrent < 0:
		return invalid("RateLimits.maxConcurrentDispatches cannot be negative.")
	case concurrent > maxConcurrency:
		return invalid("RateLimits.maxConcurrentDispatches must be less than or equal to %d.", maxConcurrency)
	}
	if err := checkRetry(q.GetRetryConfig()); err != nil {
		return err
	}
	return checkTarget(q.GetHttpTarget())
}

func checkRetry(c *cloudtaskspb.RetryConfig) error {
	for _, d := range []struct {
		name string
		d    *durationpb.Duration
	}{
		{"minBackoff", c.GetMinBackoff()}, {"maxBackoff", c.GetMaxBackoff()}, {"maxRetryDuration", c.GetMaxRetryDuration()},
	} {
		if d.d != nil && d.d.CheckValid() != nil {
			return invalid("RetryConfig.%s is not a valid duration.", d.name)
		}
		if d.d.AsDuration() < 0 {
			return invalid("RetryConfig.%s cannot be negative.", d.name)
		}
	}
	switch {
	case c.GetMaxAttempts() < -1:
		return invalid("RetryConfig.maxAttempts must be greater or equal to -1.")
	case c.GetMaxDoublings() < 0:
		return invalid("RetryConfig.maxDoublings cannot be negative.")
	case c.GetMinBackoff() != nil && c.GetMaxBackoff() != nil && c.GetMinBackoff().AsDuration() > c.GetMaxBackoff().AsDuration():
		return invalid("RetryConfig.minBackoff must be less than or equal to RetryConfig.maxBackoff.")
	}
	return nil
}

func checkTarget(t *cloudtaskspb.HttpTarget) error {
	uri := t.GetUriOverride()
	switch {
	case uri != nil && uri.Host != nil && uri.GetHost() == "":
		return invalid("UriOverride.host cannot be empty.")
	case uri.GetPort() < 0 || uri.GetPort() > math.MaxUint16:
		return invalid("UriOverride.port must be between 0 and 65535.")
	case t.GetOidcToken() != nil && (t.GetOidcToken().GetServiceAccountEmail() == "" || t.GetOidcToken().GetAudience() == ""):
		return invalid("HttpTarget.oidcToken must have both serviceAccountEmail and audience.")
	}
	for _, o := range t.GetHeaderOverrides() {
		if err := checkHeader("HttpTarget.headerOverrides", o.GetHeader().GetKey(), o.GetHeader().GetValue()); err != nil {
			return err
		}
	}
	return nil
}

// merge is the queue after an update. With an empty mask, or "*", every field
// is replaced; a retry field that the mask names is taken even where it is zero.
func merge(old, update *cloudtaskspb.Queue, paths []string) (*cloudtaskspb.Queue, error) {
	if slices.Equal(paths, []string{"*"}) {
		paths = nil
	}
	merged := proto.CloneOf(update)
	if len(paths) > 0 {
		merged = proto.CloneOf(old)
	}
	for _, path := range paths {
		if err := copyField(merged.ProtoReflect(), update.ProtoReflect(), path); err != nil {
			return nil, err
		}
	}
	merged.Name, merged.State, merged.PurgeTime = old.Name, old.State, old.PurgeTime
	if merged.RateLimits != nil {
		merged.RateLimits.MaxBurstSize = 0 // output only
	}
	if err := checkQueue(merged); err != nil {
		return nil, err
	}
	if len(paths) == 0 || merged.RetryConfig == nil {
		complete(merged)
		return merged, nil
	}
	completeLimits(merged)
	completeBackoff(merged.RetryConfig)
	return merged, nil
}
