package slot

import (
	"context"
	"strconv"
	"time"
)

// Verdicts of Start, beside Run.
const (
	// AlreadyDone: the request is terminal; that of a drive, because it waited past its deadline.
	AlreadyDone Verdict = "DONE"
	// UnknownTicket: not a ticket of this life of the lane. Look at durable records, then Reserve with Adopt.
	UnknownTicket Verdict = "UNKNOWN"
	// Gone: the ticket to drive is not to be driven (any more).
	Gone Verdict = "GONE"
	// Snoozed: too early. The task (Ticket, K) is to be created for At, then the delivery is over.
	Snoozed Verdict = "SNOOZE"
	// Wait: early, but within the inline wait.
	Wait Verdict = "WAIT"
)

// ReasonDeadline is the Reason of the one AlreadyDone whose call ended the request: it had waited past its deadline.
const ReasonDeadline = "deadline"

// StartRequest asks for a grant.
type StartRequest struct {
	// Ticket, Incarnation, Request and K are those of the delivered task. Ticket 0 is a kick.
	Ticket, Incarnation int64
	Request             string
	K                   int
	// Owner is a nonce of this delivery, or of this drive.
	Owner string
	// Left is what is left of the inline wait. A negative one asks for a final answer: the waiter snoozes and claims nothing.
	Left time.Duration
	// Drive and DriveRequest name another ticket to run, 0 for none.
	Drive        int64
	DriveRequest string
	// Kick is the number of the delivered kick, 0 for none.
	Kick int64
	// Jitter is a factor around 1 that spreads the snoozes of a paused lane.
	Jitter float64
}

// Started is the answer of Start.
type Started struct {
	Seen
	Verdict Verdict
	// Grant is set for Run.
	Grant Grant
	// Status is set for AlreadyDone; Durable says that the record is also outside Redis.
	Status  Status
	Durable bool
	// At and K are set for Snoozed.
	At int64
	K  int
	// Until is set for Wait: the Redis instant at which looking again makes sense. Rank is the number of requests before it.
	Until, Rank int64
	// Reason says what a waiter waits for: pace, rank, full, busy; a snoozer: rank, busy, or why the lane stands;
	// AlreadyDone: ReasonDeadline or nothing.
	Reason string
	// Overdue asks a waiter to drive the head.
	Overdue bool
}

// Start grants the own ticket, or the one to drive, or says what it waits for. See Reserve for errors.
func (s *Store) Start(ctx context.Context, lane Lane, req StartRequest) (Started, error) {
	keys := KeysOf(lane.Key)
	own, driven := keys.Record(req.Request), keys.Record(req.DriveRequest)
	r, err := s.run(ctx, startScript, lane, []string{own, driven},
		req.Ticket, req.Incarnation, req.Request, req.K, req.Owner, left(req.Left), req.Drive, req.DriveRequest, req.Kick,
		strconv.FormatFloat(req.Jitter, 'f', 3, 64))
	if err != nil {
		return Started{}, err
	}
	out := Started{
		Seen: r.seen(), Verdict: r.verdict, Status: Status(r.fields["status"]), Durable: r.bool("durable"),
		At: r.int("at"), K: int(r.int("k")), Until: r.int("until"), Rank: r.int("rank"), Reason: r.fields["reason"],
		Overdue: r.bool("overdue"),
	}
	if r.verdict == Run {
		out.Grant = r.grant(req.Owner)
	}
	return out, r.err
}

// left rounds down: a wait may be shorter than what is left, never longer.
func left(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}
