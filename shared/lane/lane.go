// Package lane is what ingest and executor both do with a lane: bind a key to its policy, run one attempt under its lease,
// create the lane's tasks. Who calls it, and when, is theirs.
package lane

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Lane is a key bound to its policy.
type Lane struct {
	// Slot is the lane as the scripts know it.
	Slot slot.Lane
	// Policy is the first policy that matches the key.
	Policy *policy.Lane
	// Timeout is the longest timeout of the targets that the policy lists.
	Timeout time.Duration
}

// ErrNoPolicy says that no lane policy matches a key.
type ErrNoPolicy struct{ Key string }

// Error names the key.
func (e ErrNoPolicy) Error() string { return fmt.Sprintf("no lane policy matches key %q", e.Key) }

// Bind finds the policy of key in doc. The error is ErrNoPolicy.
func Bind(doc *policy.Document, key string) (Lane, error) {
	p, ok := doc.Lane(key)
	if !ok {
		return Lane{}, ErrNoPolicy{Key: key}
	}
	l := Lane{Policy: p, Slot: slot.Lane{
		Key: key, Policy: p.Name, Concurrency: p.Concurrency, Burst: p.Burst, Spacing: p.Spacing, Lease: p.Lease,
		Retention: p.Retention, MaxDepth: p.MaxDepth, Attempts: p.Attempts, MaxAge: p.MaxAge,
		BackoffMin: p.Backoff.Min, BackoffMax: p.Backoff.Max,
		Park: p.Exhausted == policy.Park, HoldAmbiguous: p.Ambiguous == policy.Hold,
	}}
	for _, name := range p.Targets {
		if t := doc.Targets[name]; t != nil {
			l.Timeout = max(l.Timeout, t.Timeout)
		}
	}
	return l, nil
}

// StoreDecides says that how a request of the lane ends is what the durable store holds of it first.
func (l Lane) StoreDecides() bool { return l.Policy.Durable && l.Policy.Decide == policy.Firestore }

// DispatchDeadline is how long Cloud Tasks waits for a delivery of this lane.
func (l Lane) DispatchDeadline() time.Duration {
	return taskqueue.DispatchDeadline(slot.InlineWait, l.Timeout)
}

// StoredLimit is how many bytes of a response's body a record keeps: 256 KiB on durable lanes, 64 KiB on others.
func (l Lane) StoredLimit() int {
	if l.Policy.Durable {
		return 256 << 10
	}
	return 64 << 10
}
