package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

// run calls the target under the lease that reserve granted, while the client waits.
func (s *submitting) run(ctx context.Context, r slot.Reservation, sent time.Time) error {
	ended, err := s.Runner.Run(ctx, lane.Attempt{
		Lane: s.lane, Grant: r.Grant, Request: s.at(r.Incarnation, r.Ticket), Sent: sent, K: -1, Own: true,
	})
	switch {
	case errors.Is(err, lane.ErrLeaseLost):
		return s.lost()
	case err != nil:
		// How the attempt ended is not recorded, and there may have been an effect.
		return outcomeUnknown(err)
	}
	v := s.view(ended.Seen)
	s.passOn(ctx, v)
	switch {
	case ended.Verdict != slot.OK:
		return s.lost()
	case ended.Outcome == slot.Retry || ended.Outcome == slot.Parked:
		if ended.Outcome == slot.Parked {
			s.parked(ctx, r.Ticket)
		}
		// It keeps its place: no lower ticket waits, but one that has failed as well. A duplicate that reached the queue
		// before may have snoozed: k is the lane's own.
		return s.makeDurable(ctx, place{
			View: v, ticket: r.Ticket, k: ended.K, due: ended.Due, slot: ended.At, position: 1, status: statusQueued, own: true,
			armed: ended.FinishSent,
		})
	}
	if ended.Decided {
		return s.decided(ctx, r, ended)
	}
	held, err := s.Records.Persist(ctx, s.lane, s.at(r.Incarnation, r.Ticket), ended.Record)
	switch {
	case err != nil:
		return outcomeUnknown(err)
	case held.Fence != ended.Record.Fence:
		return s.replay(held) // others have been told how it ended before
	}
	return s.finished(held, ended.Result)
}

// parked keeps outside Redis that the lane stands on a ticket. Where it fails the task of that ticket does it, when it comes.
func (s *submitting) parked(ctx context.Context, ticket int64) {
	if err := s.Tasks.Marks.Park(ctx, s.lane.Slot.Key, ticket); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "parked ticket not kept outside redis", logging.Ticket, ticket, logging.Error, err.Error())
	}
}

// decided answers with what the durable store decided.
func (s *submitting) decided(ctx context.Context, r slot.Reservation, ended lane.Ended) error {
	s.Records.Free(ctx, s.lane, s.at(r.Incarnation, r.Ticket), r.Grant)
	switch {
	case ended.Record.Status == slot.Cancelled:
		return cancelled()
	case ended.Another:
		return s.replay(ended.Record)
	}
	return s.finished(ended.Record, ended.Result)
}

// lost finds out what became of a request whose lease was: reserve, asked again by the same owner, replays its end, or answers
// the ticket that is to be made durable. When that ticket's deadline was set is then unknown.
func (s *submitting) lost() error {
	s.unsure = true
	return errAnew
}

// finished passes on how the attempt ended.
func (s *submitting) finished(r slot.Record, result target.Result) error {
	s.about(r.ID, r.Ticket, string(r.Status))
	if result.Response == nil {
		return failure(result.Reason)
	}
	return s.pass(lane.Response{
		Status: result.Response.Status, ContentType: result.Response.ContentType,
		ContentEncoding: result.Response.ContentEncoding, Truncated: result.Response.Truncated, Body: result.Response.Body,
	})
}
