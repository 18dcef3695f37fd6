package console

import (
	"sync"
	"time"
)

// Kind says what happened to a ticket or a lane.
type Kind string

// Kinds. The last three are about a whole lane, the others about one ticket.
const (
	// Reserved: it took its place; Event.Slot is the slot told to the client.
	Reserved Kind = "reserved"
	// Granted: a run began; Event.Driven says that another ticket's delivery, or a kick, runs it.
	Granted Kind = "granted"
	// Done: a run ended with the result.
	Done Kind = "done"
	// Retried: a run failed, and Event.Slot is the earliest start of the next.
	Retried Kind = "retried"
	// Dead: it was given up.
	Dead Kind = "dead"
	// Parked: it was given up on, and its lane stands on it.
	Parked Kind = "parked"
	// Snoozed: its task came too early, and Event.Slot is when the next one is due.
	Snoozed Kind = "snoozed"
	// Late: its task was delivered Event.LateMS after its schedule.
	Late Kind = "late"
	// Redriven: an operator has it run again in its place.
	Redriven Kind = "redriven"
	// Voided: its place was given up, since no task of it exists.
	Voided Kind = "voided"
	// Lost: a run ended without its lease, or its end could not be recorded.
	Lost Kind = "lost"
	// Unknown: its lease was lost, and its lane stands until somebody says what became of it.
	Unknown Kind = "unknown"
	// Cancelled: it was taken out while it waited.
	Cancelled Kind = "cancelled"
	// Paused, Resumed and Purged are what operators do to a lane; Purged cancels all that waits.
	Paused  Kind = "paused"
	Resumed Kind = "resumed"
	Purged  Kind = "purged"
)

// Event is one transition.
type Event struct {
	// Seq numbers the events of a Journal from 1.
	Seq uint64 `json:"seq"`
	// At is the instant in milliseconds since 1970: Redis time, where a script told it.
	At     int64  `json:"at"`
	Kind   Kind   `json:"kind"`
	Key    string `json:"key"`
	Ticket int64  `json:"ticket,omitempty"`
	// ID is the request's.
	ID string `json:"id,omitempty"`
	// Slot is an instant in milliseconds since 1970; see the kinds.
	Slot int64 `json:"slot,omitempty"`
	// Attempt numbers the runs of a ticket from 1.
	Attempt int64  `json:"attempt,omitempty"`
	Driven  bool   `json:"driven,omitempty"`
	LateMS  int64  `json:"late_ms,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// capacity is how many events a Journal keeps: those of some fifteen thousand requests.
const capacity = 1 << 16

// Journal keeps the latest transitions. The zero value is ready; it is safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	ring   []Event // the event of number n is at (n-1) % capacity
	last   uint64
	counts map[Kind]int64
	open   map[request]place
	more   chan struct{} // closed by the next event
	epoch  int64         // tells this Journal from that of an earlier process
}

// Add numbers the event and keeps it. An event without an instant happened now.
func (j *Journal) Add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(e)
}

// add is Add. j.mu is held.
func (j *Journal) add(e Event) {
	if e.At == 0 {
		e.At = time.Now().UnixMilli()
	}
	j.begin()
	j.follow(e)
	j.last++
	e.Seq = j.last
	if len(j.ring) < capacity {
		j.ring = append(j.ring, e)
	} else {
		j.ring[(e.Seq-1)%capacity] = e
	}
	j.counts[e.Kind]++
	close(j.more)
	j.more = make(chan struct{})
}

// Count says how many events of a kind there were, those no longer kept too.
func (j *Journal) Count(k Kind) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts[k]
}

// after returns at most limit events that follow number seq, oldest first, and a channel that is closed when there are more.
// whole is false where some that follow are no longer kept.
func (j *Journal) after(seq uint64, limit int) (events []Event, whole bool, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begin()
	oldest := j.last - uint64(len(j.ring)) // the number before that of the oldest kept
	whole, events = seq >= oldest, []Event{}
	for seq = max(seq, oldest); seq < j.last && len(events) < limit; seq++ {
		events = append(events, j.ring[seq%capacity])
	}
	return events, whole, j.more
}

// begin makes the zero value ready. j.mu is held.
func (j *Journal) begin() {
	if j.more == nil {
		j.more, j.counts, j.epoch = make(chan struct{}), map[Kind]int64{}, time.Now().UnixNano()
		j.open = map[request]place{}
	}
}
