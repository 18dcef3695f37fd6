package taskqueue

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// Version is the format that this code writes, and the newest that it reads.
const Version = 1

// Kind says what an executor does with a task.
type Kind string

// The kinds of task. A kind that this code does not know was written by a newer
// version: [Keys.Open] answers ErrVersion.
const (
	KindRequest Kind = "request" // run the ticket in it
	KindKick    Kind = "kick"    // drive the lane's head; it has no ticket
	KindFlush   Kind = "flush"   // write a terminal record through to Firestore
)

// MaxSealed is the size of the largest sealed envelope, in bytes. Cloud Tasks
// was measured to refuse a stored task above 1 MiB - 7 bytes; what is left
// between the two is for the task's URL, names, token settings and MAC. A body
// of 512 KiB takes 683 KiB of it in base64.
const MaxSealed = 1<<20 - 16<<10

// Envelope is the content of a task: all that an executor needs to run it from
// nothing, also after every other state is lost. Times are kept to the
// nanosecond, in UTC.
type Envelope struct {
	V              int         `json:"v"`                         // format; Seal sets it to Version
	Kind           Kind        `json:"kind"`                      // required
	Key            string      `json:"key"`                       // the lane's key, decoded; required
	Incarnation    int64       `json:"incarnation"`               // of the lane
	Ticket         int64       `json:"ticket,omitempty"`          // not in a kick
	ID             string      `json:"id,omitempty"`              // request id; required but in a kick
	K              int         `json:"k,omitempty"`               // snooze count
	Seq            int64       `json:"seq,omitempty"`             // number of a kick
	Target         string      `json:"target,omitempty"`          // a name of the configuration, never a URL
	Header         http.Header `json:"header,omitempty"`          // content headers and forwarded ones
	IdempotencyKey string      `json:"idempotency_key,omitempty"` // the client's own; never to be logged
	Fingerprint    string      `json:"fingerprint,omitempty"`
	Submitted      time.Time   `json:"submitted,omitzero"`
	Deadline       time.Time   `json:"deadline,omitzero"` // zero: none
	Traceparent    string      `json:"traceparent,omitempty"`
	Body           []byte      `json:"body,omitempty"` // the payload, verbatim; base64 in JSON
}

// Errors of [Keys.Seal], [Keys.Open] and [Envelope.Validate].
var (
	// ErrMAC: the MAC is missing or was made with none of the keys.
	ErrMAC = errors.New("wrong or missing MAC")
	// ErrVersion: the MAC is right, and a newer version wrote the envelope.
	ErrVersion = errors.New("envelope is newer than this code")
	// ErrMalformed: the MAC is right, or there is none yet, and the content is
	// no envelope.
	ErrMalformed = errors.New("malformed envelope")
	// ErrTooLarge: the sealed envelope would exceed MaxSealed.
	ErrTooLarge = errors.New("envelope too large")
)

// Validate reports what would keep the envelope from being sealed, its size
// left aside; every error is an ErrMalformed. Its text names the field, never
// the value. The one fault that a client can cause is a header, idempotency key
// or trace that is not valid UTF-8, which JSON would change silently: ingest
// asks before it takes a ticket.
func (e Envelope) Validate() error {
	switch {
	case e.Kind == "":
		return fmt.Errorf("%w: no kind", ErrMalformed)
	case e.Key == "":
		return fmt.Errorf("%w: no key", ErrMalformed)
	case e.ID == "" && e.Kind != KindKick:
		return fmt.Errorf("%w: kind %q without a request id", ErrMalformed, e.Kind)
	}
	for _, text := range []struct{ field, value string }{
		{"kind", string(e.Kind)}, {"key", e.Key}, {"id", e.ID}, {"target", e.Target},
		{"idempotency_key", e.IdempotencyKey}, {"fingerprint", e.Fingerprint}, {"traceparent", e.Traceparent},
	} {
		if !utf8.ValidString(text.value) {
			return fmt.Errorf("%w: %s is not valid UTF-8", ErrMalformed, text.field)
		}
	}
	for name, values := range e.Header {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, invalidUTF8) {
			return fmt.Errorf("%w: header %q is not valid UTF-8", ErrMalformed, name)
		}
	}
	return nil
}

func invalidUTF8(s string) bool { return !utf8.ValidString(s) }
