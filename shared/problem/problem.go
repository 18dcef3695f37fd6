package problem

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// internalDetail is all that a client is told about an unexpected error.
const internalDetail = "The cause is in the service's log. Send the request again with the same Idempotency-Key."

// Error is an error with what the client is told about it.
type Error struct {
	Name Name

	// Status is the HTTP status. Defaults to the one of the name in API.md.
	Status int

	// Detail is a sentence for the client: what is wrong and what to do. It
	// is public: no cause, no secret, nothing of another caller's.
	Detail string

	// RetryAfter is told in whole seconds, rounded up, at least 1.
	// Defaults to 1 s where API.md promises the header, else to none.
	RetryAfter time.Duration

	// Extra holds extension members of the JSON object, such as the earliest
	// slot. The members of RFC 9457 itself cannot be replaced.
	Extra map[string]any

	// Err is the cause: for the log and for errors.Is, never for the client.
	Err error
}

// New returns a problem with the status of its name.
func New(name Name, detail string) *Error {
	return &Error{Name: name, Status: kinds[name].status, Detail: detail}
}

// WithCause sets the cause and returns e.
func (e *Error) WithCause(err error) *Error {
	e.Err = err
	return e
}

// WithRetryAfter sets the time that the client should wait and returns e.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// With adds an extension member and returns e. value must be encodable as
// JSON, else the answer goes out without any extension member.
func (e *Error) With(member string, value any) *Error {
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[member] = value
	return e
}

// Error is name, detail and cause, for the log.
func (e *Error) Error() string {
	text := string(e.Name)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's [Name], or an [*Error] of the same name.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Name:
		return t == e.Name
	case *Error:
		return t.Name == e.Name
	}
	return false
}

// From returns the outermost [*Error] that err wraps, complete: a copy with
// the defaults filled in. A [Name] becomes the problem of that name, and a
// body over the limit of [http.MaxBytesReader] is [BodyTooLarge]. Every other
// error, nil too, is [Internal] with err as its cause.
func From(err error) *Error {
	var (
		known *Error
		name  Name
		limit *http.MaxBytesError
	)
	switch {
	case errors.As(err, &known):
	case errors.As(err, &name):
		known = &Error{Name: name, Err: err}
	case errors.As(err, &limit):
		known = &Error{
			Name:   BodyTooLarge,
			Detail: fmt.Sprintf("The body may have %d bytes at most. Send less.", limit.Limit),
			Err:    err,
		}
	default:
		known = &Error{Name: Internal, Detail: internalDetail, Err: err}
	}
	return known.complete()
}

// complete returns a copy of e with its defaults filled in. A name outside
// the table is a mistake in our code, but still an answer.
func (e *Error) complete() *Error {
	full := *e
	k, ok := kinds[e.Name]
	if !ok {
		k = kinds[Internal]
	}
	if full.Status == 0 {
		full.Status = k.status
	}
	if full.RetryAfter <= 0 {
		full.RetryAfter = k.retry
	}
	full.Extra = maps.Clone(e.Extra)
	return &full
}
