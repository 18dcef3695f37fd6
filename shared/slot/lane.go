package slot

import "time"

// Timing constants of the protocol. They are the same for every lane, and were found with a fault-injecting model.
const (
	// InlineWait (W) is how long an executor may wait at the gate for a ticket that is early.
	InlineWait = 10 * time.Second
	// ConfirmWithin (D) is how long a reserved ticket may stay unconfirmed before others may void it.
	ConfirmWithin = 30 * time.Second
	// ConfirmMargin is what an acknowledgement without confirm must keep from D, for the clocks' sake.
	ConfirmMargin = 2 * time.Second
	// Grace is how late a runnable head may be before a waiter drives it although it seems to be on its way.
	Grace = time.Second
	// Poll is the interval at which the head's own waiter looks, should a wake-up be lost.
	Poll = 250 * time.Millisecond
	// MissingAfter is the least time between the two looks that find a task missing.
	MissingAfter = 5 * time.Second
	// Horizon is the farthest slot that is handed out. Cloud Tasks refuses schedules beyond 30 days.
	Horizon = 29 * 24 * time.Hour
	// ColdInterval is the guess for a lane whose policy has shown no interval yet. Too high is free, too low costs a dispatch.
	ColdInterval = time.Second
)

// Lane is a key with what its policy says. The zero value is not usable: Concurrency and Burst are at least 1, Lease is
// positive.
type Lane struct {
	// Key is the caller's string.
	Key string
	// Policy is the policy's name; lanes of one policy share what they learn about intervals.
	Policy string
	// Concurrency is how many requests may run at once, 1 to 1000.
	Concurrency int
	// Burst is how many starts may be caught up at once, 1 to 1000.
	Burst int
	// Spacing is the least time between two starts, in whole milliseconds. 0 means order only.
	Spacing time.Duration
	// Lease is how long a grant lasts unless renewed.
	Lease time.Duration
	// Retention is how long the record of a finished request is kept.
	Retention time.Duration
	// MaxDepth bounds the unresolved requests.
	MaxDepth int
	// HoldAmbiguous makes a request whose lease was lost unknown: the lane stands until somebody says what became of it.
	HoldAmbiguous bool
	// Park makes the lane stand on a request that would be given up.
	Park bool
	// Attempts bounds the runs granted to a request, less those that finish with Counts false.
	Attempts int
	// MaxAge bounds the time since a request's first start, checked at finish.
	MaxAge time.Duration
	// BackoffMin and BackoffMax bound the wait after a retryable failure; it doubles with every failure in a row.
	BackoffMin, BackoffMax time.Duration
}

// Head is the lane's head as a script saw it: the lowest ticket that is neither resolved nor live-leased.
type Head struct {
	// Ticket is 0 where the lane has no head.
	Ticket int64
	// Request is the id of the head's request.
	Request string
	// K is the snooze count of the head's latest task.
	K int
	// Due is the schedule of that task, in Redis milliseconds.
	Due int64
	// Here says that an executor waits with this ticket.
	Here bool
	// Deadline is the confirm deadline in Redis milliseconds, 0 once confirmed.
	Deadline int64
	// At is the earliest start in Redis milliseconds, 0 while leases or a pause hold the lane.
	At int64
	// Seen is when the script saw it, in Redis milliseconds.
	Seen int64
}

// Seen is what every answer carries: the lane as the script left it.
type Seen struct {
	// Now is the script's Redis time in milliseconds.
	Now int64
	// Incarnation is the Redis time at which this life of the lane began, in microseconds: its first ticket.
	Incarnation int64
	// Interval is the start-to-start time that the lane has learned, 0 for none.
	Interval time.Duration
	// Horizon is the Redis instant in milliseconds until which, as is known outside Redis, tasks of the lane may come; 0: none.
	Horizon int64
	// Reach is the Redis instant in milliseconds until which what is new waits, after a loss of Redis, for what was accepted before it;
	// 0: never. The Horizon is no earlier.
	Reach int64
	// Lost is the Redis instant in milliseconds at which it was found that Redis had lost the lane, or the last of it; 0: never.
	Lost int64
	// Next is the head after the call.
	Next Head
}

// Until returns how long it is from the answer to the Redis instant at (milliseconds), never negative.
func (s Seen) Until(at int64) time.Duration {
	if at <= s.Now {
		return 0
	}
	return time.Duration(at-s.Now) * time.Millisecond
}

// Unconfirmed says that nobody has confirmed the head's task yet.
func (h Head) Unconfirmed() bool { return h.Deadline != 0 }
