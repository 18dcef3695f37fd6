package journal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Event is a kind of transition.
type Event string

// Events. Those of a ticket carry Ticket and Request.
const (
	// Begin: the lane's life began. Ticket is the first that it issues, Fence the one before the first.
	Begin Event = "begin"
	// Repair: the lane was taken over from an older generation of Redis. Ticket and Fence skip what that may have issued.
	Repair Event = "repair"
	// Reserve: a new ticket took its place at the tail.
	Reserve Event = "reserve"
	// Adopt: a ticket of an earlier life took its place again.
	Adopt Event = "adopt"
	// Grant: a run began. It carries Fence, Attempt, LeaseUntil, Live and the policy in force.
	Grant Event = "grant"
	// Retry: a run failed, and the ticket keeps its place; not before NotBefore.
	Retry Event = "retry"
	// Park: the ticket was given up on, and its lane stands on it. Without a Fence it was so before Redis was lost; a ticket that takes
	// its place so has the Reason park.
	Park Event = "park"
	// Done and Dead end the ticket by the word of the run of Fence. NotBefore of Dead holds the whole lane.
	Done Event = "done"
	Dead Event = "dead"
	// Expire ends a ticket that waited past its deadline.
	Expire Event = "expire"
	// Cancel ends a ticket that waited.
	Cancel Event = "cancel"
	// Void gives up the place of a ticket without a task. Fence is that of a lease that its owner had not used, 0 for none.
	Void Event = "void"
	// Settle ends a ticket whose durable record says how: Reason is done or dead.
	Settle Event = "settle"
	// Redrive has a parked ticket run again in its place; Skip ends it.
	Redrive Event = "redrive"
	Skip    Event = "skip"
	// Resolve settles a ticket whose lease was lost; Reason is retry, done or dead.
	Resolve Event = "resolve"
	// Pause and Resume hold the lane and let it go on.
	Pause  Event = "pause"
	Resume Event = "resume"
	// Purge cancels all that waits below Ticket.
	Purge Event = "purge"
)

// Instant is a Redis time in milliseconds since 1970; 0 is none. As text it is RFC 3339 in UTC.
type Instant int64

const layout = "2006-01-02T15:04:05.000Z"

// MarshalText writes the instant with milliseconds.
func (i Instant) MarshalText() ([]byte, error) {
	return time.UnixMilli(int64(i)).UTC().AppendFormat(nil, layout), nil
}

// UnmarshalText reads what MarshalText writes.
func (i *Instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	*i = Instant(t.UnixMilli())
	return nil
}

// Entry is one transition. What an event does not have is zero.
type Entry struct {
	At      Instant `json:"at"`
	Event   Event   `json:"event"`
	Ticket  int64   `json:"ticket,omitempty"`
	Request string  `json:"id,omitempty"`
	// Fence is that of the lease, see the events.
	Fence int64 `json:"fence,omitempty"`
	// Attempt numbers the grants of a ticket from 1; of Reserve and Adopt it is how many there were under a place given up before.
	Attempt int64 `json:"attempt,omitempty"`
	// K is the snooze count of the ticket's task.
	K int64 `json:"k,omitempty"`
	// LeaseUntil is when the granted lease ends unless it is renewed.
	LeaseUntil Instant `json:"lease_until,omitzero"`
	// NotBefore is until when nothing of the ticket, or of the lane, starts; of Begin and Repair the end of the quarantine.
	NotBefore Instant `json:"not_before,omitzero"`
	// Reach, of Begin, is until when tasks of an earlier life may come: no ticket of this life starts before.
	Reach Instant `json:"reach,omitzero"`
	// Live counts the leases that lived beside a granted one.
	Live int64 `json:"live,omitempty"`
	// Concurrency, SpacingMS and Burst are the lane's policy in force at a grant; SpacingMS and Burst at a repair too.
	Concurrency int64 `json:"concurrency,omitempty"`
	SpacingMS   int64 `json:"spacing_ms,omitempty"`
	Burst       int64 `json:"burst,omitempty"`
	// Generation is the life of Redis in which the lane began or was repaired.
	Generation int64  `json:"generation,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Entry as text is "at|event" and then, in any order, a letter and a value for every field that is not zero: t ticket, i request,
// f fence, a attempt, k, x lease until, b not before, h reach, l live, n concurrency, s spacing, u burst, g generation. r, the reason, comes last:
// it may hold a "|".
const separator = "|"

// ErrMalformed says that a text is no entry.
var ErrMalformed = errors.New("journal: malformed entry")

func (e *Entry) numbers() map[byte]*int64 {
	return map[byte]*int64{
		't': &e.Ticket, 'f': &e.Fence, 'a': &e.Attempt, 'k': &e.K, 'x': (*int64)(&e.LeaseUntil), 'b': (*int64)(&e.NotBefore),
		'h': (*int64)(&e.Reach),
		'l': &e.Live, 'n': &e.Concurrency, 's': &e.SpacingMS, 'u': &e.Burst, 'g': &e.Generation,
	}
}

// String is the entry as the scripts write it.
func (e Entry) String() string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(int64(e.At), 10) + separator + string(e.Event))
	numbers := e.numbers()
	for _, tag := range []byte("tifakxbhlnsug") {
		switch n := numbers[tag]; {
		case tag == 'i' && e.Request != "":
			b.WriteString(separator + "i" + e.Request)
		case n != nil && *n != 0:
			b.WriteString(separator + string(tag) + strconv.FormatInt(*n, 10))
		}
	}
	if e.Reason != "" {
		b.WriteString(separator + "r" + e.Reason)
	}
	return b.String()
}

// Parse reads an entry as the scripts write it. Fields with an unknown letter, of a newer version of the code, are passed over.
// The error is ErrMalformed.
func Parse(text string) (Entry, error) {
	var e Entry
	malformed := func() (Entry, error) { return Entry{}, fmt.Errorf("%w: %q", ErrMalformed, text) }
	at, rest, _ := strings.Cut(text, separator)
	event, rest, more := strings.Cut(rest, separator)
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || event == "" {
		return malformed()
	}
	e.At, e.Event = Instant(n), Event(event)
	numbers := e.numbers()
	for more {
		if strings.HasPrefix(rest, "r") {
			e.Reason = rest[1:]
			break
		}
		var field string
		field, rest, more = strings.Cut(rest, separator)
		switch {
		case field == "":
			return malformed()
		case field[0] == 'i':
			e.Request = field[1:]
		case numbers[field[0]] != nil:
			if *numbers[field[0]], err = strconv.ParseInt(field[1:], 10, 64); err != nil {
				return malformed()
			}
		}
	}
	return e, nil
}
