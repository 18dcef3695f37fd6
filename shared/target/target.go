package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Limit is the longest response body that is read, in bytes: 10 MiB. Cloud Run
// would pass on 32 MiB, but every response is whole in memory, and what is
// stored of it is far shorter.
const Limit = 10 << 20

// MaxRetryAfter is the longest Retry-After that is honoured; a longer one
// counts as this.
const MaxRetryAfter = time.Hour

var (
	// ErrLeaseLost is the cause to cancel the context of [Target.Do] with
	// (see [context.WithCancelCause]) when the lease of the attempt is gone:
	// the result then has the reason "lease-lost".
	ErrLeaseLost = errors.New("lease lost")

	// ErrFinal marks the error of a [Func] as one that no further attempt
	// would mend; wrap it with %w.
	ErrFinal = errors.New("final failure")
)

// Target does the work of one request. Implementations are safe for
// concurrent use.
type Target interface {
	// Do makes one attempt and returns when it has ended, at the latest when
	// ctx is done ([Func] can only ask its function to). It does not change
	// req, nor keep it longer.
	Do(ctx context.Context, req Request) Result
}

// Request is one attempt at a client's request.
type Request struct {
	// Key is the lane's key, decoded.
	Key string
	// ID is the request's id: [a-z2-7]{26}.
	ID string
	// Ticket, Fence and Attempt are the grant's; Attempt numbers grants from 1.
	Ticket, Fence, Attempt int64
	// IdempotencyKey is the client's own. Empty: ID is sent in its place.
	IdempotencyKey string
	// Header holds Content-Type, Content-Encoding and the client headers on
	// the target's forward list. Those that must never be forwarded are left
	// out even if they are here.
	Header http.Header
	// Body is the client's, verbatim.
	Body []byte
	// Traceparent is the client's trace context, passed through. Empty: none.
	Traceparent string
}

// Response is what a target answered.
type Response struct {
	// Status is 200-999 from an [HTTP], 200-599 from a [Func].
	Status int
	// ContentType and ContentEncoding are the headers of these names as they
	// came, empty when absent: nothing is guessed or decoded.
	ContentType     string
	ContentEncoding string
	// Body is the whole body, or its first [Limit] bytes if Truncated.
	Body      []byte
	Truncated bool
}

// Outcome is what becomes of a request after an attempt.
type Outcome int

// The zero Outcome is none of these, so that a forgotten one accepts nothing.
const (
	// Accept: the work is done.
	Accept Outcome = iota + 1
	// Retry: try again later.
	Retry
	// Final: it failed, and trying again would not help.
	Final
)

// String returns the outcome's name in lower case, for logs.
func (o Outcome) String() string {
	switch o {
	case Accept:
		return "accept"
	case Retry:
		return "retry"
	case Final:
		return "final"
	}
	return fmt.Sprintf("outcome(%d)", int(o))
}

// The words of [Result.Reason]. They are shown to clients and do not change.
const (
	// ReasonStatus: the response's status decided.
	ReasonStatus = "status"
	// ReasonTimeout: no complete response in time. The target may still be
	// working, or may have done the work.
	ReasonTimeout = "timeout"
	// ReasonRefused: there was no connection (DNS, dial, TLS), nothing was sent.
	ReasonRefused = "refused"
	// ReasonBroken: the connection broke, or carried something that is not
	// HTTP, after there was one. The target may have done the work.
	ReasonBroken = "broken"
	// ReasonTooLarge: the response is longer than [Limit].
	ReasonTooLarge = "too-large"
	// ReasonCredentials: no identity token could be had, nothing was sent.
	ReasonCredentials = "credentials"
	// ReasonInvalid: the request holds a header that HTTP cannot carry,
	// nothing was sent.
	ReasonInvalid = "invalid"
	// ReasonError: the function returned an error.
	ReasonError = "error"
	// ReasonPanic: the function panicked.
	ReasonPanic = "panic"
	// ReasonLeaseLost: the context was cancelled with [ErrLeaseLost].
	ReasonLeaseLost = "lease-lost"
	// ReasonCanceled: the context was cancelled for another cause.
	ReasonCanceled = "canceled"
)

// Result is how an attempt ended.
type Result struct {
	Outcome Outcome
	// Response is nil when there is none to pass on. A Retry carries the one
	// that asked for it, as the last attempt's is the one to keep.
	Response *Response
	// Reason is one of the Reason constants.
	Reason string
	// RetryAfter is how long a 429 or 503 asked to be left alone, at most
	// [MaxRetryAfter]; 0 if it did not say.
	RetryAfter time.Duration
	// Counts is false when the attempt is not used up: 429, 503, and where
	// nothing could be sent (refused, credentials).
	Counts bool
	// Err says what happened, for the log; nil after Accept. It holds no
	// payload, key or secret, except what a Func put into its own error.
	Err error
}
