package slot

import "context"

// Verdicts of Cancel, beside OK.
const (
	// StillRunning: the request holds a live lease.
	StillRunning Verdict = "RUNNING"
	// AlreadyFinished: the request has ended otherwise; Cancelling.Status says how.
	AlreadyFinished Verdict = "FINISHED"
	// None: there is no such request.
	None Verdict = "NONE"
	// OutcomeUnknown: its lease was lost, so it may have run; Resolve says what became of it.
	OutcomeUnknown Verdict = "UNKNOWN"
)

// Cancelling is the answer of Cancel and Resolve.
type Cancelling struct {
	Seen
	Verdict Verdict
	Ticket  int64
	Status  Status
}

// Cancel takes a request out while it waits. Its id is free again, its task finds it cancelled. See Reserve for errors.
func (s *Store) Cancel(ctx context.Context, lane Lane, requestID string) (Cancelling, error) {
	r, err := s.run(ctx, cancelScript, lane, KeysOf(lane.Key).record(requestID), requestID)
	if err != nil {
		return Cancelling{}, err
	}
	return Cancelling{Seen: r.seen(), Verdict: r.verdict, Ticket: r.int("ticket"), Status: Status(r.fields["status"])}, r.err
}

// Resolution is what is to become of a request on which its lane stands.
type Resolution string

// Resolutions: Redrive and Skip of a parked request, the others of an unknown one.
const (
	// Redrive runs it again in its place, with all its attempts.
	Redrive Resolution = "redrive"
	// Skip leaves it dead, and the lane goes on.
	Skip Resolution = "skip"
	// ResolveRetry runs it again.
	ResolveRetry Resolution = "retry"
	// ResolveDone and ResolveDead end it without a response.
	ResolveDone Resolution = "done"
	ResolveDead Resolution = "dead"
)

// Resolve settles the request on which a lane stands. owner is a nonce of the caller; a resend carries the same. The verdict is
// OK with the record's Status, StillRunning, AlreadyFinished, None, or Kept where the lane does not stand on it in that way.
// Who resolves leaves a kick. See Reserve for errors.
func (s *Store) Resolve(ctx context.Context, lane Lane, requestID string, as Resolution, owner string) (Cancelling, error) {
	r, err := s.run(ctx, resolveScript, lane, KeysOf(lane.Key).record(requestID), requestID, string(as), owner)
	if err != nil {
		return Cancelling{}, err
	}
	return Cancelling{Seen: r.seen(), Verdict: r.verdict, Ticket: r.int("ticket"), Status: Status(r.fields["status"])}, r.err
}

// Pause holds a lane, or lets it go on: nothing starts while it is held, and what runs goes on to its end. Who resumes a lane
// leaves a kick, since its tasks have snoozed. See Reserve for errors.
func (s *Store) Pause(ctx context.Context, lane Lane, hold bool) (Seen, error) {
	r, err := s.run(ctx, pauseScript, lane, nil, bit(hold))
	if err != nil {
		return Seen{}, err
	}
	return r.seen(), r.err
}

// Purging is the answer of Purge: how many requests were cancelled, and below which ticket all that waited was, what a lost Redis
// has forgotten too; 0 where there was nothing.
type Purging struct{ Requests, Below int64 }

// Purge cancels all that waits, in constant work. What runs goes on to its end. See Reserve for errors.
func (s *Store) Purge(ctx context.Context, lane Lane) (Purging, error) {
	r, err := s.run(ctx, purgeScript, lane, nil)
	if err != nil {
		return Purging{}, err
	}
	return Purging{r.int("purged"), r.int("mark")}, r.err
}

// Extend tells the lane that it is known outside Redis until when its tasks may come, in Redis milliseconds. See Reserve for errors.
func (s *Store) Extend(ctx context.Context, lane Lane, horizon int64) error {
	_, err := s.run(ctx, horizonScript, lane, nil, horizon)
	return err
}
