package policy

import (
	"slices"
	"time"
)

// Target is an HTTP endpoint that does the work.
type Target struct {
	// Name is the target's name in the document: letters, digits, ".", "_"
	// and "-", at most 63, beginning with a letter or digit.
	Name string
	// URL is absolute, http or https, without user, password and fragment.
	URL string
	// Method is GET, POST, PUT, PATCH or DELETE. Defaults to POST.
	Method string
	// Timeout bounds one call, 1s to 25m. Defaults to 60s.
	Timeout time.Duration
	// Headers are sent with every call, by canonical name. They hold secrets.
	Headers map[string]string
	// Forward lists the client's headers to pass on, by canonical name.
	Forward []string
	// Audience is that of the OIDC token to send; empty: none is sent.
	Audience string
	// Secret signs calls as Standard Webhooks does: base64, with or without
	// "whsec_"; empty: calls are not signed.
	Secret string
	// Retry says which outcomes are worth another attempt.
	// Defaults to 408, 425, 429, 5xx, timeout and refused.
	Retry RetryRules
	// Immediate is false when all calls go through the queue, whose limits
	// then hold for the target. Defaults to true.
	Immediate bool
	// MaxConcurrent bounds the calls at one time over all lanes; 0: no bound.
	MaxConcurrent int
}

// RetryRules says which outcomes of a call are worth another attempt.
type RetryRules struct {
	Statuses []int // single statuses, 300 to 599
	Classes  []int // whole hundreds, 3 to 5: 5 stands for 500 to 599
	Timeout  bool  // no answer within the target's timeout
	Refused  bool  // the target was not reached at all
}

func defaultRetry() RetryRules {
	return RetryRules{Statuses: []int{408, 425, 429}, Classes: []int{5}, Timeout: true, Refused: true}
}

// Retryable reports whether an answer of this HTTP status is worth another
// attempt.
func (r RetryRules) Retryable(status int) bool {
	return slices.Contains(r.Statuses, status) || slices.Contains(r.Classes, status/100)
}

// Origin is a source of collapsed reads.
type Origin struct {
	// Name is the origin's name in the document, formed like a target's.
	Name string
	// URL is the base that the path of a read is appended to.
	URL string
	// Timeout bounds one fetch, 1s to 25m. Defaults to 5s.
	Timeout time.Duration
	// Headers are sent with every fetch, by canonical name. They hold secrets.
	Headers map[string]string
	// Vary lists the client's headers that are passed on and tell answers
	// apart, by canonical name.
	Vary []string
	// TTL is how long an answer is fresh, 0 to 720h. Defaults to 60s.
	TTL time.Duration
	// StaleWhileRevalidate, StaleIfError: RFC 5861, 0 to 720h. Default to 0.
	StaleWhileRevalidate, StaleIfError time.Duration
	// NegativeTTL is how long an error is shared, 0 to 720h. Defaults to 1s.
	NegativeTTL time.Duration
	// MaxBytes bounds the origin's part of the cache in Redis, up to 1 TiB.
	// Defaults to 64 MiB.
	MaxBytes int64
}

// Caller says what some callers may do.
type Caller struct {
	// Match is a glob over the caller's e-mail address.
	Match string
	// Keys are globs over the keys of lanes. Defaults to all.
	Keys []string
	// Allow lists at least one action.
	Allow []Action
}

// Action is a kind of call that a caller may make.
type Action string

// The actions of API.md section 2.
const (
	Submit  Action = "submit"
	Read    Action = "read"
	Operate Action = "operate"
	Fetch   Action = "fetch"
)
