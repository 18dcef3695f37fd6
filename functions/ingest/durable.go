package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
)

// replayed answers a submission from its terminal record in Redis, once that is durable.
func (s *submitting) replayed(ctx context.Context, r slot.Reservation) error {
	rec, err := s.Records.Persist(ctx, s.lane, s.at(r.Incarnation, r.Ticket), r.Record)
	if err != nil {
		return outcomeUnknown(err)
	}
	if rec, err = s.whole(ctx, rec); err != nil {
		return err
	}
	return s.replay(rec)
}

// errTombstone says that Redis points to a durable record that is not there: its retention has ended this moment, or somebody
// has deleted it.
var errTombstone = errors.New("no durable record behind a tombstone")

// whole returns rec with its response, which Redis no longer has of a durable record.
func (c *call) whole(ctx context.Context, rec slot.Record) (slot.Record, error) {
	if !rec.Durable || len(rec.Response) > 0 {
		return rec, nil
	}
	stored, found, err := c.Records.Lookup(ctx, c.lane.Slot.Key, rec.ID)
	if err == nil && !found {
		err = fmt.Errorf("request %s: %w", rec.ID, errTombstone)
	}
	if err != nil {
		return slot.Record{}, problem.New(problem.Unavailable, "The result cannot be read now. Send the request again.").WithCause(err)
	}
	return stored, nil
}

// withoutRedis answers a submission that Redis did not: from the durable record where there is one.
func (s *submitting) withoutRedis(ctx context.Context, cause error) error {
	rec, ended, err := s.endedLongAgo(ctx)
	switch {
	case err != nil:
		return unavailable(errors.Join(cause, err))
	case !ended:
		return unavailable(cause)
	}
	return s.replayOr422(rec)
}

// endedLongAgo looks a submission up among the durable records. What has no idempotency key, or was cancelled, has never ended.
func (s *submitting) endedLongAgo(ctx context.Context) (rec slot.Record, ended bool, err error) {
	if s.envelope.IdempotencyKey == "" || !s.lane.Policy.Durable {
		return slot.Record{}, false, nil
	}
	rec, found, err := s.Records.Lookup(ctx, s.envelope.Key, s.envelope.ID)
	return rec, found && rec.Status != slot.Cancelled, err
}

func (s *submitting) replayOr422(rec slot.Record) error {
	if rec.Fingerprint != s.envelope.Fingerprint {
		return keyReused()
	}
	return s.replay(rec)
}

func keyReused() error {
	return problem.New(problem.KeyReused,
		"The Idempotency-Key was sent before with another target, content type or body. Use a new key for a new request.")
}

// endedBefore finds out whether a request that is new to Redis has ended before: Redis was lost less than a retention ago. Its
// place is then given up.
func (s *submitting) endedBefore(ctx context.Context, r slot.Reservation) (ended bool, answer error) {
	if s.letter != nil || r.Confirmed || !r.Young {
		return false, nil
	}
	rec, ended, err := s.endedLongAgo(ctx)
	switch {
	case err != nil:
		return true, unavailable(errors.Join(err, s.giveUp(ctx, r)))
	case !ended:
		return false, nil
	}
	if err := s.giveUp(ctx, r); err != nil {
		return true, unavailable(err)
	}
	return true, s.replayOr422(rec)
}

// giveUp gives up the place that r is, and the lease of one that was to run. A duplicate's is its first caller's, who looks as well.
func (s *submitting) giveUp(ctx context.Context, r slot.Reservation) error {
	if r.Verdict == slot.Duplicate {
		return nil
	}
	gone, err := s.Slots.GiveUp(ctx, s.lane.Slot, s.envelope.ID, r.Ticket, r.Grant.Fence)
	if err == nil {
		s.passOn(ctx, s.view(gone.Seen))
	}
	return err
}
