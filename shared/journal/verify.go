package journal

import (
	"fmt"
	"maps"
	"slices"
)

// Invariants that a Violation names: those of package slot, and what holds beside them.
const (
	Exclusion  = "I1 exclusion"
	Order      = "I2 order"
	Pace       = "I3 pace"
	Effect     = "I5 effect"
	Clock      = "I7 clock"
	Held       = "pause"
	Quarantine = "quarantine"
	Stand      = "stand"
	// Whole is the journal's own: no entry is missing, changed or made up.
	Whole = "journal"
)

// Violation is the first entry that breaks a promise.
type Violation struct {
	// Index is the entry's, from 0.
	Index     int    `json:"index"`
	Invariant string `json:"invariant"`
	// Why says what is wrong, with the instants and numbers at hand.
	Why string `json:"why"`
}

// Error makes a Violation an error.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s at entry %d: %s", v.Invariant, v.Index, v.Why)
}

// Verify replays the entries, oldest first, and returns the first that breaks an invariant, or nil.
//
// Where the first is no Begin, what came before is unknown: tickets that the entries do not show may be in any state, and Verify says
// nothing against what one of those states would allow. It then still knows order, leases and pace among the tickets that it sees.
// It takes work that grows with the square of the number of entries.
func Verify(entries []Entry) *Violation {
	r := newReplay()
	for i, e := range entries {
		r.apply(e)
		if r.broken != nil {
			r.broken.Index = i
			return r.broken
		}
		r.at = e.At
	}
	return nil
}

// phase is what a ticket is in.
type phase int

const (
	unsure   phase = iota // it waits, runs or has ended: the entries do not tell
	waiting               // without a lease, or after a retry
	parked                // it waits for a redrive or a skip
	running               // its lease lives, or has lapsed without an end
	resolved              // for good
	voided                // resolved: its place was given up
)

type ticket struct {
	phase   phase
	id      string
	fence   int64   // of the last grant, 0 for none or unknown
	until   Instant // its lease's end unless renewed
	attempt int64   // grants so far, -1 where unknown
	k       int64
	before  Instant // not before
}

// lives says that the lease lives for certain.
func (t *ticket) lives(at Instant) bool { return t.phase == running && t.until > at }

// lapsed says that the lease ended unless it was renewed.
func (t *ticket) lapsed(at Instant) bool { return t.phase == running && t.until <= at }

func (t *ticket) waits() bool { return t.phase == waiting || t.phase == parked }

// replay is a lane as the entries so far tell it.
type replay struct {
	at      Instant
	tickets map[int64]*ticket
	// first and next bound the tickets that were issued under the eyes of the journal; next is 0 where none was.
	first, next int64
	// whole says that the lane's life began with the first entry.
	whole      bool
	fence      int64 // the last, 0 where unknown
	highest    int64 // ticket that has been granted
	paused     bool
	quarantine Instant
	reach      Instant
	began      int64   // the first ticket of this life, where it is known
	hold       Instant // nothing starts before
	tat        Instant // the theoretical arrival time of the next grant, or less where it is unknown
	granted    Instant // the last grant, 0 for none or unknown

	broken *Violation
}

func newReplay() *replay { return &replay{tickets: map[int64]*ticket{}} }

func (r *replay) violated(invariant, format string, args ...any) {
	if r.broken == nil {
		r.broken = &Violation{Invariant: invariant, Why: fmt.Sprintf(format, args...)}
	}
}

func (r *replay) apply(e Entry) {
	if e.At < r.at {
		r.violated(Clock, "it is of %d, and the one before of %d", e.At, r.at)
	}
	switch e.Event {
	case Begin:
		if r.at != 0 {
			r.violated(Whole, "a life of the lane begins among the entries of another")
		}
		*r = replay{tickets: map[int64]*ticket{}, broken: r.broken, whole: true, began: e.Ticket, reach: e.Reach}
		r.renumber(e)
	case Repair:
		r.granted, r.tat = e.At, e.At+Instant(e.Burst*e.SpacingMS)
		r.renumber(e)
	case Reserve:
		r.reserve(e)
	case Adopt:
		r.adopt(e)
	case Grant:
		r.grant(e)
	case Retry, Done, Dead:
		r.finish(e)
	case Park:
		r.park(e)
	case Expire, Cancel, Void, Settle:
		r.end(e)
	case Redrive, Skip, Resolve:
		r.settle(e)
	case Pause:
		r.paused = true
	case Resume:
		r.paused = false
	case Purge:
		r.purge(e)
	default:
		r.violated(Whole, "no transition is called %q", e.Event)
	}
}

// sorted are the tickets, so that of several that break a promise the lowest is named.
func (r *replay) sorted() []int64 { return slices.Sorted(maps.Keys(r.tickets)) }

// renumber goes on from the ticket and the fence of a begin or a repair.
func (r *replay) renumber(e Entry) {
	if e.Ticket < r.next || e.Fence < r.fence {
		r.violated(Whole, "ticket %d and fence %d lie below %d and %d, which were issued", e.Ticket, e.Fence, r.next, r.fence)
	}
	r.quarantine = e.NotBefore
	r.issue(e.Ticket)
	r.fence = e.Fence
}

// issue says that the next ticket is t.
func (r *replay) issue(t int64) {
	if r.next == 0 {
		r.first = t
	}
	r.next = t
}

func (r *replay) reserve(e Entry) {
	if r.next != 0 && e.Ticket != r.next {
		r.violated(Order, "ticket %d takes its place, and %d was the next", e.Ticket, r.next)
	}
	if t := r.tickets[e.Ticket]; t != nil {
		r.violated(Order, "ticket %d was in the lane before it took its place", e.Ticket)
	}
	r.issue(e.Ticket)
	r.next++
	r.place(e)
}

// place puts the ticket where it waits, or stands.
func (r *replay) place(e Entry) {
	t := &ticket{phase: waiting, id: e.Request, attempt: e.Attempt, k: e.K}
	if e.Reason == string(Park) {
		t.phase = parked
	}
	r.tickets[e.Ticket] = t
}

func (r *replay) adopt(e Entry) {
	t := r.tickets[e.Ticket]
	switch {
	case r.began != 0 && r.next != 0 && e.Ticket >= r.next:
		r.violated(Order, "ticket %d is adopted, and was never issued", e.Ticket)
	case t != nil && (t.waits() || t.lives(e.At)):
		r.violated(Order, "ticket %d is adopted, and had its place", e.Ticket)
	case t != nil && t.phase == voided:
		r.violated(Order, "ticket %d is adopted, and its place was given up", e.Ticket)
	}
	r.place(e)
}

// of is the ticket of e, which e's event says was in the lane.
func (r *replay) of(e Entry) *ticket {
	t := r.tickets[e.Ticket]
	if t == nil {
		if r.whole || r.next != 0 && e.Ticket >= r.first {
			r.violated(Whole, "ticket %d never took its place", e.Ticket)
		}
		t = &ticket{id: e.Request, attempt: -1}
		r.tickets[e.Ticket] = t
	}
	if t.id != e.Request {
		r.violated(Whole, "ticket %d is that of request %s, not %s", e.Ticket, t.id, e.Request)
	}
	return t
}

// park is the word of a run, or of what was known before Redis was lost.
func (r *replay) park(e Entry) {
	if e.Fence != 0 {
		r.finish(e)
		return
	}
	t := r.of(e)
	switch {
	case t.phase == resolved || t.phase == voided:
		r.violated(Effect, "ticket %d is parked, and has ended", e.Ticket)
	case t.lives(e.At):
		r.violated(Exclusion, "ticket %d is parked while its lease lives until %d", e.Ticket, t.until)
	}
	t.phase = parked
}

// finish is the word of a run.
func (r *replay) finish(e Entry) {
	t := r.of(e)
	if t.fence != 0 && e.Fence != t.fence {
		r.violated(Effect, "fence %d ends the run of fence %d", e.Fence, t.fence)
	}
	switch {
	case t.phase == voided && e.Event == Done: // the handler of a voided ticket finished after all
	case t.phase != running && t.phase != unsure:
		r.violated(Effect, "a run of ticket %d ends, which has none", e.Ticket)
	}
	r.counts(e, t)
	t.fence = e.Fence
	switch e.Event {
	case Retry:
		t.phase, t.before = waiting, e.NotBefore
	case Park:
		t.phase, t.before = parked, e.NotBefore
	default:
		t.phase = resolved
		r.hold = max(r.hold, e.NotBefore)
	}
}

// counts checks the snooze count, which never falls.
func (r *replay) counts(e Entry, t *ticket) {
	if e.K == 0 {
		return
	}
	if e.K < t.k {
		r.violated(Whole, "the snooze count of ticket %d is %d after %d", e.Ticket, e.K, t.k)
	}
	t.k = e.K
}

// end takes a ticket without a run out of the lane.
func (r *replay) end(e Entry) {
	t := r.of(e)
	unused := e.Event == Void && e.Fence != 0 && e.Fence == t.fence && t.attempt <= 1
	switch {
	case t.phase == resolved || t.phase == voided:
		r.violated(Effect, "ticket %d ends again: %s", e.Ticket, e.Event)
	case t.lives(e.At) && !unused:
		r.violated(Exclusion, "ticket %d ends (%s) while its lease lives until %d", e.Ticket, e.Event, t.until)
	}
	t.phase = resolved
	if e.Event == Void {
		t.phase = voided
	}
}

// settle is the word of an operator about a ticket on which the lane stands.
func (r *replay) settle(e Entry) {
	t := r.of(e)
	switch {
	case t.phase == resolved || t.phase == voided:
		r.violated(Effect, "ticket %d has ended: %s", e.Ticket, e.Event)
	case t.lives(e.At):
		r.violated(Exclusion, "ticket %d is settled (%s) while its lease lives until %d", e.Ticket, e.Event, t.until)
	case e.Event == Resolve && t.waits(), e.Event != Resolve && t.phase != parked && t.phase != unsure:
		r.violated(Stand, "the lane does not stand on ticket %d: %s", e.Ticket, e.Event)
	}
	if e.Event == Redrive || e.Event == Resolve && e.Reason == "retry" {
		t.phase, t.before = waiting, 0
		return
	}
	t.phase = resolved
}

// purge cancels all that waits below a ticket. Whether a lease past its expiry was renewed is unknown.
func (r *replay) purge(e Entry) {
	if r.next != 0 && e.Ticket > r.next {
		r.violated(Whole, "all below %d is purged, and %d is the next ticket", e.Ticket, r.next)
	}
	for n, t := range r.tickets {
		switch {
		case n >= e.Ticket:
		case t.waits():
			t.phase = resolved
		case t.lapsed(e.At):
			t.phase = unsure
		}
	}
}
