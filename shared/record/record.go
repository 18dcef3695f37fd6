package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// Errors of a store. None holds a response or a payload.
var (
	// ErrInvalid: a record or an argument is out of bounds; the text says which.
	// Nothing was changed, and to try again is of no use.
	ErrInvalid = errors.New("invalid record")
	// ErrUnavailable: the store cannot serve now. A write may still have taken
	// effect when its answer was lost; to repeat it is safe.
	ErrUnavailable = errors.New("record store unavailable")
)

// Bounds, in bytes. Together they stay below the 1 MiB of a document.
const (
	// MaxResponse is 256 KiB of body and 8 KiB for how a lane packs the rest.
	MaxResponse = 264 << 10
	// MaxBody is the largest body that a lane takes.
	MaxBody = 512 << 10
	// MaxHeader bounds the payload without its body, counted as JSON: twice what Cloud
	// Tasks takes, for quotes and escapes.
	MaxHeader = 160 << 10
	// MaxDetail bounds a Detail.
	MaxDetail = 16 << 10
	// maxWord bounds each of the other strings.
	maxWord = 512
)

// Status is how a request ended.
type Status string

// The ends of a request.
const (
	Done      Status = "done"      // accepted
	Dead      Status = "dead"      // given up
	Cancelled Status = "cancelled" // taken out before it started
)

// Record is the outcome of one request. Times are kept to the microsecond, in
// UTC.
type Record struct {
	// Key is the lane's key, decoded. Required.
	Key string
	// ID is the request id. Required.
	ID string
	// Fingerprint condenses the request that the id belongs to.
	Fingerprint string
	// Ticket orders the lane, at least 1; Fence is the number of the last lease,
	// 0 where it never had one.
	Ticket, Fence int64
	// Status is required.
	Status Status
	// Attempts is the number of runs that counted.
	Attempts int64
	// Reason and Detail say why a dead request was given up.
	Reason, Detail string
	// Target is the target's name.
	Target string
	// Submitted, Started (the first grant) and Finished; zero where it has not
	// happened, but Finished is required.
	Submitted, Started, Finished time.Time
	// Response is the target's last response as the lane packs it. Lists leave
	// it out.
	Response []byte
	// Payload is what a dead request was, to run it again; nil else. Lists leave
	// it out.
	Payload *Payload
	// ExpireAt is when the record is no longer there. Required.
	ExpireAt time.Time
}

// Payload is a submitted request: its content headers and forwarded ones, the
// client's own idempotency key and trace, and its body, verbatim.
type Payload struct {
	Header         http.Header `json:"header,omitempty"`
	IdempotencyKey string      `json:"idempotency_key,omitempty"`
	Traceparent    string      `json:"traceparent,omitempty"`
	Body           []byte      `json:"-"`
}

// yields tells whether r, which is stored and alive, gives way to other. What is
// done does not: its request has no later life, so a higher ticket is that of
// another place for the same one, which it got before this end was known. Only
// what was submitted when r's time was over, but for the difference of two
// clocks, has nothing to do with it.
func (r Record) yields(other Record) bool {
	return r.Ticket < other.Ticket && (r.Status != Done || !other.Submitted.Before(r.ExpireAt.Add(-clocks)))
}

// clocks is how far the clocks of Redis, Firestore and an instance may be apart.
const clocks = time.Second

// validate reports the first fault; the error is an ErrInvalid.
func (r Record) validate() error {
	switch {
	case r.Ticket < 1 || r.Fence < 0:
		return invalid("ticket %d, fence %d: the least are 1 and 0", r.Ticket, r.Fence)
	case !slices.Contains([]Status{Done, Dead, Cancelled}, r.Status):
		return invalid("status %q is no end of a request", r.Status)
	case r.Finished.IsZero() || r.ExpireAt.IsZero() || r.Finished.Year() > 9999 || r.ExpireAt.Year() > 9999:
		return invalid("finished %v, expires %v: both must be set, up to the year 9999", r.Finished, r.ExpireAt)
	case len(r.Response) > MaxResponse:
		return invalid("the response has %d bytes, the most is %d", len(r.Response), MaxResponse)
	case len(r.Detail) > MaxDetail || !utf8.ValidString(r.Detail):
		return invalid("the detail has %d bytes, the most is %d, in UTF-8", len(r.Detail), MaxDetail)
	}
	for name, word := range map[string]string{"fingerprint": r.Fingerprint, "reason": r.Reason, "target": r.Target} {
		if len(word) > maxWord || !utf8.ValidString(word) {
			return invalid("the %s has %d bytes, the most is %d, in UTF-8", name, len(word), maxWord)
		}
	}
	return errors.Join(validName(r.Key, r.ID), r.Payload.validate())
}

func (p *Payload) validate() error {
	if p == nil {
		return nil
	}
	if !utf8.ValidString(p.IdempotencyKey) || !utf8.ValidString(p.Traceparent) {
		return invalid("the payload's idempotency key or trace is not UTF-8")
	}
	for name, values := range p.Header {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return invalid("a header of the payload is not UTF-8")
		}
	}
	if header := p.header(); len(p.Body) > MaxBody || len(header) > MaxHeader {
		return invalid("the payload has %d bytes of headers and %d of body, the most are %d and %d", len(header), len(p.Body), MaxHeader, MaxBody)
	}
	return nil
}

// header is all but the body, as JSON.
func (p *Payload) header() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // strings in lists in a map can always be encoded
	return text.Bytes()
}

func validName(key, id string) error {
	if validKey(key) && id != "" && len(id) <= maxWord && utf8.ValidString(id) {
		return nil
	}
	return invalid("lane key of %d bytes, request id of %d: give 1-%d each, in UTF-8", len(key), len(id), maxWord)
}

func validKey(key string) bool { return key != "" && len(key) <= maxWord && utf8.ValidString(key) }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}
