package slot

import (
	"context"
	"strconv"
	"time"
)

// Verdicts of Finish and Renew, beside AlreadyDone (another grant has ended the request).
const (
	// OK: the attempt is ended as Finished.Outcome says, or the lease renewed.
	OK Verdict = "OK"
	// Lost: the lease is another's, or lapsed.
	Lost Verdict = "LOST"
)

// Outcome is how an attempt ends.
type Outcome string

// Outcomes.
const (
	// Accept stores the response as the result.
	Accept Outcome = "done"
	// Retry asks for another attempt in the same place.
	Retry Outcome = "retry"
	// GiveUp ends the request without a result.
	GiveUp Outcome = "dead"
	// Parked is what a GiveUp comes to where the policy parks: the lane stands on the request. Never asked for.
	Parked Outcome = "parked"
)

// FinishRequest ends an attempt.
type FinishRequest struct {
	Grant   Grant
	Request string
	Outcome Outcome
	// Response is stored with a terminal record; opaque.
	Response []byte
	// Reason and Detail say why the attempt failed.
	Reason, Detail string
	// K is the snooze count of the caller's own task, -1 where the ticket has none yet (ingest).
	K int
	// Own says that the ticket is the caller's own, so that after Retry or Parked the caller creates its next task.
	Own bool
	// RetryAfter overrides the backoff of a Retry where it is positive.
	RetryAfter time.Duration
	// Counts says that the run uses up an attempt.
	Counts bool
	// Jitter is a factor around 1 for the backoff.
	Jitter float64
}

// Finished is the answer of Finish.
type Finished struct {
	Seen
	Verdict Verdict
	// Outcome is what the attempt came to: a Retry without attempts left is a GiveUp, and a GiveUp may be Parked.
	Outcome Outcome
	// Due and K name the task to create after a Retry or Parked of the own ticket; At is the earliest start.
	Due, At int64
	K       int
	// Record is how the request ended; set for OK, but after a Retry.
	Record Record
}

// Finish ends an attempt. Only the grant with this fence can; a grant that lapsed but has no successor still can. See Reserve
// for errors.
func (s *Store) Finish(ctx context.Context, lane Lane, req FinishRequest) (Finished, error) {
	r, err := s.run(ctx, finishScript, lane, KeysOf(lane.Key).record(req.Request),
		req.Grant.Ticket, req.Request, req.Grant.Fence, string(req.Outcome), req.Response, req.Reason, req.Detail, req.K,
		bit(req.Own), lane.Attempts, ms(lane.MaxAge), ms(lane.BackoffMin), ms(lane.BackoffMax), ms(req.RetryAfter),
		bit(req.Counts), strconv.FormatFloat(req.Jitter, 'f', 3, 64), bit(lane.Park))
	if err != nil {
		return Finished{}, err
	}
	out := Finished{
		Seen: r.seen(), Verdict: r.verdict, Outcome: Outcome(r.fields["status"]), Due: r.int("due"), At: r.int("at"),
		K: int(r.int("k")),
	}
	if out.Verdict == OK && out.Outcome != Retry && out.Outcome != Parked {
		out.Record = r.record(req.Request)
		out.Record.Response = req.Response
	}
	return out, r.err
}

// Renew lengthens a live lease and returns its new expiry in Redis milliseconds; ok is false when the lease has lapsed or is
// another's: the run must stop. It never revives a lapsed lease. See Reserve for errors.
func (s *Store) Renew(ctx context.Context, lane Lane, g Grant) (expiry int64, ok bool, err error) {
	r, err := s.run(ctx, renewScript, lane, nil, g.Ticket, g.Fence, g.Owner)
	if err != nil {
		return 0, false, err
	}
	return r.int("expiry"), r.verdict == OK, r.err
}
