package console

import (
	"context"

	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/slot"
)

// inspector is what ingest and the executor read lanes with.
type inspector interface {
	Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error)
}

// looks tells what nobody of the process did: what readers of a lane find to have happened.
type looks struct {
	inspector
	journal *Journal
}

func (s looks) Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error) {
	state, r, err := s.inspector.Inspect(ctx, l, requestID)
	if err == nil {
		s.journal.stands(l, state.Seen, state.Stands)
		s.journal.tellEnd(Event{At: state.Now, Key: l.Key, Ticket: r.Ticket, ID: requestID, Reason: r.Reason}, r.Status)
	}
	return state, r, err
}

// reads are looks for ingest, which also lists.
type reads struct {
	ingest.Inspector
	looks looks
}

func (s reads) Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error) {
	return s.looks.Inspect(ctx, l, requestID)
}

// stands tells of a head on which its lane stands since its outcome is unknown.
func (j *Journal) stands(l slot.Lane, seen slot.Seen, why slot.Standing) {
	if why == slot.StandsUnknown {
		j.tell(Event{At: seen.Now, Kind: Unknown, Key: l.Key, Ticket: seen.Next.Ticket, ID: seen.Next.Request})
	}
}
