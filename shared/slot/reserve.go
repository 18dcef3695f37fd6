package slot

import (
	"context"
	"time"
)

// Verdicts of Reserve.
const (
	// Replayed: the record is terminal; Reservation.Record holds it.
	Replayed Verdict = "REPLAY"
	// Mismatch: the id is in use with another fingerprint.
	Mismatch Verdict = "MISMATCH"
	// Run: the ticket has its lease; the caller runs it now.
	Run Verdict = "RUN"
	// Reserved: the ticket is new, or the caller's own again. Its task is the caller's to create.
	Reserved Verdict = "OK"
	// Duplicate: another caller reserved the same request, and it is still open.
	Duplicate Verdict = "DUP"
	// Full: depth, horizon or the request's own deadline refuse it; nothing changed.
	Full Verdict = "FULL"
	// Purged: the lane was purged since the request that is to be adopted took its ticket; its record says cancelled.
	Purged Verdict = "CANCELLED"
)

// ReserveRequest is what Reserve needs to know of a request.
type ReserveRequest struct {
	// ID is the request id: letters and digits. Scripts pack it between '|', and list it between spaces.
	ID string
	// Fingerprint tells a repetition from another request under the same id.
	Fingerprint string
	// Owner is a nonce of this caller, letters and digits; a resend carries the same.
	Owner string
	// Immediate lets an idle lane grant at once.
	Immediate bool
	// Adopt takes a request that has been accepted before: neither depth nor horizon apply.
	Adopt bool
	// Ticket and K are those of the task of a request that is adopted, 0 for none. It keeps the ticket where this life of the
	// lane has not given the number to anybody: one of an earlier life, or, then with its K, of the last milliseconds that a
	// failover lost.
	Ticket int64
	K      int
	// Submitted is the client's submission, for the record.
	Submitted time.Time
	// Target is the target's name: nothing starts while it is paused.
	Target string
	// Deadline is the latest start; a request that waits past it is dead. Zero: none.
	Deadline time.Time
	// Redrive runs a request that is dead again, under a new ticket.
	Redrive bool
}

// Reservation is the answer of Reserve.
type Reservation struct {
	Seen
	Verdict Verdict
	// Ticket is set for Run, Reserved and Duplicate.
	Ticket int64
	// Grant is set for Run.
	Grant Grant
	// Slot is the earliest start, in Redis milliseconds; Position the waiting requests before it + 1.
	Slot, Position int64
	// Due is the schedule for the task of the ticket, in Redis milliseconds.
	Due int64
	// Confirmed says of a Duplicate that its task is known to be durable; Leased that it runs now.
	Confirmed, Leased bool
	// Unknown says of a Duplicate, or the caller's own again, that its lease was lost and its lane stands on it.
	Unknown bool
	// Record is set for Replayed.
	Record Record
	// Reason (depth, horizon, deadline), Depth and, but for deadline, RetryAfter are set for Full; for deadline Slot is.
	Reason     string
	Depth      int64
	RetryAfter time.Duration
	// Young says that Redis was lost less than a retention ago: durable records have to be asked before an unknown id runs.
	Young bool
}

// Grant is the right to run one ticket once.
type Grant struct {
	Ticket int64
	// Fence grows with every grant of the lane, for the life of the key.
	Fence int64
	// Expiry is the end of the lease in Redis milliseconds.
	Expiry int64
	// Attempt numbers the grants of the ticket from 1.
	Attempt int64
	// K is the snooze count of the ticket.
	K int
	// Owner is the nonce under which the lease was granted.
	Owner string
	// Slip is how much later the grant came than the lane allowed.
	Slip time.Duration
}

// Reserve looks the request up, takes the next ticket, and grants it at once where the lane is idle and due. The error is of
// Redis, ErrGeneration, ErrLost, ErrFormat or ErrReply, or Restore's; after one the ticket may or may not have been taken, and the same call with
// the same Owner tells.
func (s *Store) Reserve(ctx context.Context, lane Lane, req ReserveRequest) (Reservation, error) {
	r, err := s.run(ctx, reserveScript, lane, KeysOf(lane.Key).record(req.ID),
		req.ID, req.Fingerprint, req.Owner, bit(req.Immediate), bit(req.Adopt), lane.MaxDepth, ms(Horizon),
		req.Submitted.UnixMilli(), req.Target, unix(req.Deadline), bit(req.Redrive), req.Ticket, req.K)
	if err != nil {
		return Reservation{}, err
	}
	res := Reservation{
		Seen: r.seen(), Verdict: r.verdict, Ticket: r.int("ticket"), Slot: r.int("slot"), Position: r.int("position"),
		Due: r.int("due"), Confirmed: r.bool("confirmed"), Leased: r.bool("leased"), Unknown: r.bool("unknown"), Young: r.bool("young"),
		Reason: r.fields["reason"], Depth: r.int("depth"), RetryAfter: r.duration("wait", time.Millisecond),
	}
	switch r.verdict {
	case Run:
		res.Grant = r.grant(req.Owner)
	case Replayed:
		res.Record = r.record(req.ID)
	}
	return res, r.err
}

func (r *reply) grant(owner string) Grant {
	return Grant{
		Ticket: r.int("ticket"), Fence: r.int("fence"), Expiry: r.int("expiry"), Attempt: r.int("attempt"),
		K: int(r.int("k")), Owner: owner, Slip: r.duration("slip", time.Millisecond),
	}
}

// unix is t in milliseconds, 0 for no time.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
