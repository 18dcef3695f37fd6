package policy

import (
	"slices"
	"time"
)

// Document is a whole configuration, checked and with defaults filled in. It
// does not change after [Parse] and is safe for concurrent use.
type Document struct {
	// Targets holds at least one target, by name.
	Targets map[string]*Target
	// Lanes holds at least one lane policy, in the order in which they match.
	Lanes []*Lane
	// Origins holds the sources of collapsed reads, by name. Often empty.
	Origins map[string]*Origin
	// Callers says who may do what; nil means that everybody may do all.
	Callers []*Caller
	// Log says what of the log is kept.
	Log Log
}

// Log says what of the log is kept.
type Log struct {
	// Sample is the share of requests whose lines are logged, 0 to 1; warnings and errors are logged of all. Defaults to 1.
	Sample float64
}

// Allows reports whether the callers policy lets the caller of that e-mail address take the action. key is the lane's; where
// the call is about no lane, any is "".
func (d *Document) Allows(email string, action Action, key string) bool {
	return d.allows(email, action, func(c *Caller) bool {
		return key == "" || slices.ContainsFunc(c.Keys, func(glob string) bool { return match(glob, key) })
	})
}

// AllowsOnAll is [Document.Allows] for a call that concerns the lanes of all keys: one glob of an entry must cover them all.
func (d *Document) AllowsOnAll(email string, action Action) bool {
	return d.allows(email, action, func(c *Caller) bool {
		return slices.ContainsFunc(c.Keys, func(glob string) bool { return covers(glob, "*") })
	})
}

func (d *Document) allows(email string, action Action, keyed func(*Caller) bool) bool {
	return d.Callers == nil || slices.ContainsFunc(d.Callers, func(c *Caller) bool {
		return keyed(c) && match(c.Match, email) && slices.Contains(c.Allow, action)
	})
}

// Lane returns the first lane policy whose pattern matches key, and false if
// there is none.
func (d *Document) Lane(key string) (*Lane, bool) {
	for _, l := range d.Lanes {
		if match(l.Match, key) {
			return l, true
		}
	}
	return nil, false
}

// LongestTimeout is the longest timeout of a target: what a deadline that
// fits every target must allow for.
func (d *Document) LongestTimeout() time.Duration {
	var longest time.Duration
	for _, t := range d.Targets {
		longest = max(longest, t.Timeout)
	}
	return longest
}

// LongestLease is the longest lease of a lane: after this time no lease that
// was granted under this document is alive without a renewal.
func (d *Document) LongestLease() time.Duration {
	var longest time.Duration
	for _, l := range d.Lanes {
		longest = max(longest, l.Lease)
	}
	return longest
}

// Lane is the policy of all keys that match its pattern.
type Lane struct {
	// Match is a glob over the whole key, decoded: * matches any bytes, none
	// and slashes too; everything else stands for itself.
	Match string
	// Name is unique in the document. Defaults to Match.
	Name string
	// Target names the target of a request that asks for none.
	Target string
	// Targets are the names that Seriatim-Target may ask for.
	// Defaults to Target alone.
	Targets []string

	// Spacing is the least time between two starts: 0 (order only) to 24h.
	Spacing time.Duration
	// Burst is how many starts may be caught up at once, 1 to 1000.
	// Defaults to 1.
	Burst int
	// Concurrency is how many requests may run at once, 1 to 1000.
	// Defaults to 1.
	Concurrency int
	// Respond says whether a request may run while its client waits.
	// Defaults to Immediate.
	Respond Respond

	// Lease is how long a run holds its slot without renewal, 5s to 10m.
	// Defaults to 30s.
	Lease time.Duration
	// Attempts is how many runs a request gets, 1 to 10000, those not counted
	// that ended 429, 503 or refused. Defaults to 20.
	Attempts int
	// MaxAge bounds the time since a request's first start, 1s to 696h (29
	// days, the horizon of a lane); it is checked when a run ends.
	// Defaults to 24h.
	MaxAge time.Duration
	// Backoff bounds the pause after retryable failures.
	// Defaults to 1s and 10m.
	Backoff Backoff
	// Exhausted says what becomes of a request that has failed for good.
	// Defaults to DeadLetter.
	Exhausted Exhausted
	// Ambiguous says what becomes of a request whose lease was lost.
	// Defaults to Retry.
	Ambiguous Ambiguous

	// MaxDepth is how many requests may wait, 1 to 1,000,000.
	// Defaults to 20000.
	MaxDepth int
	// Retention is how long a finished request is kept, 1m to 720h.
	// Defaults to 24h.
	Retention time.Duration
	// Durable lanes write finished records through to Firestore.
	// Defaults to true.
	Durable bool
	// Decide says which store decides how a request ended; Firestore needs
	// Durable. Defaults to Redis.
	Decide Decide
}

// Backoff doubles from Min with every retryable failure in a row, up to Max;
// 1ms <= Min <= Max <= 24h.
type Backoff struct{ Min, Max time.Duration }

// Respond is when a client gets its answer.
type Respond string

const (
	// Immediate: with the target's answer when the lane is idle and due.
	Immediate Respond = "immediate"
	// Async: always at once, with 202.
	Async Respond = "async"
)

// Exhausted is what becomes of a request that has failed for good.
type Exhausted string

const (
	// DeadLetter sets the request aside; the lane goes on.
	DeadLetter Exhausted = "dead-letter"
	// Park stops the lane until somebody redrives or skips the request.
	Park Exhausted = "park"
)

// Ambiguous is what becomes of a request whose run lost its lease, so that
// nobody knows whether it took effect.
type Ambiguous string

const (
	// Retry runs it again.
	Retry Ambiguous = "retry"
	// Hold makes it unknown and waits for somebody to resolve it.
	Hold Ambiguous = "hold"
)

// Decide is the store whose word on the end of a request stands.
type Decide string

const (
	// Redis decides, and Firestore is written through.
	Redis Decide = "redis"
	// Firestore decides by the record that it takes first, before Redis knows:
	// of two runs one result is accepted, also where Redis forgets one of them.
	Firestore Decide = "firestore"
)
