package console

import (
	"context"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/functions/executor"
	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
)

// Runs has the ends of attempts told to j.
func (j *Journal) Runs(s lane.Slots) lane.Slots { return runs{s, j} }

// Ingest has what h does to lanes told to j. h must not serve yet.
func (j *Journal) Ingest(h *ingest.Handler) http.Handler {
	h.Slots, h.Steering = places{h.Slots, j}, steering{h.Steering, j}
	h.Inspector = reads{h.Inspector, looks{h.Inspector, j}}
	return h
}

// Executor has what e does to lanes told to j. e must not serve yet.
func (j *Journal) Executor(e *executor.Executor) http.Handler {
	e.Slots, e.Holes, e.Inspector = starts{e.Slots, j}, holes{e.Holes, j}, looks{e.Inspector, j}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lateness{}, newLateness(r.Header))))
	})
}

type runs struct {
	lane.Slots
	journal *Journal
}

func (s runs) Finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	ended, err := s.Slots.Finish(ctx, l, req)
	e := Event{
		At: ended.Now, Key: l.Key, Ticket: req.Grant.Ticket, ID: req.Request, Attempt: req.Grant.Attempt, Reason: req.Reason,
	}
	switch {
	case err != nil:
		// It may be recorded; whoever looks next finds out.
		e.At, e.Kind = time.Now().UnixMilli(), Lost
	case ended.Verdict == slot.Lost:
		e.Kind = Lost
	case ended.Verdict != slot.OK:
		return ended, nil
	case ended.Outcome == slot.Accept:
		e.Kind = Done
	case ended.Outcome == slot.GiveUp:
		e.Kind = Dead
	case ended.Outcome == slot.Parked:
		e.Kind = Parked
	default:
		e.Kind, e.Slot = Retried, ended.At
	}
	s.journal.tell(e)
	return ended, err
}

// reserved tells of a new place, and of the run that it began with.
func (j *Journal) reserved(l slot.Lane, req slot.ReserveRequest, r slot.Reservation) {
	if r.Verdict != slot.Reserved && r.Verdict != slot.Run {
		return
	}
	e := Event{At: r.Now, Kind: Reserved, Key: l.Key, Ticket: r.Ticket, ID: req.ID, Slot: r.Slot}
	if r.Verdict == slot.Run {
		e.Slot = r.Now
	}
	j.Add(e)
	if r.Verdict == slot.Run {
		j.Add(Event{At: r.Now, Kind: Granted, Key: l.Key, Ticket: r.Ticket, ID: req.ID, Attempt: r.Grant.Attempt})
	}
}

type places struct {
	ingest.Slots
	journal *Journal
}

func (s places) Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error) {
	r, err := s.Slots.Reserve(ctx, l, req)
	if err == nil {
		s.journal.reserved(l, req, r)
	}
	return r, err
}

func (s places) GiveUp(ctx context.Context, l slot.Lane, requestID string, ticket, fence int64) (slot.Looked, error) {
	got, err := s.Slots.GiveUp(ctx, l, requestID, ticket, fence)
	s.journal.voided(l, requestID, ticket, got, err)
	return got, err
}

func (s places) Void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool) (slot.Looked, error) {
	got, err := s.Slots.Void(ctx, l, requestID, ticket, atOnce)
	s.journal.voided(l, requestID, ticket, got, err)
	return got, err
}

func (j *Journal) voided(l slot.Lane, requestID string, ticket int64, got slot.Looked, err error) {
	if err == nil && got.Verdict == slot.Voided {
		j.tell(Event{At: got.Now, Kind: Voided, Key: l.Key, Ticket: ticket, ID: requestID})
	}
}

type steering struct {
	ingest.Steering
	journal *Journal
}

func (s steering) Cancel(ctx context.Context, l slot.Lane, requestID string) (slot.Cancelling, error) {
	got, err := s.Steering.Cancel(ctx, l, requestID)
	if err == nil && got.Verdict == slot.OK {
		s.journal.tell(Event{At: got.Now, Kind: Cancelled, Key: l.Key, Ticket: got.Ticket, ID: requestID})
	}
	return got, err
}

func (s steering) Resolve(ctx context.Context, l slot.Lane, requestID string, as slot.Resolution, owner string) (slot.Cancelling, error) {
	got, err := s.Steering.Resolve(ctx, l, requestID, as, owner)
	if err != nil || got.Verdict != slot.OK {
		return got, err
	}
	e := Event{At: got.Now, Key: l.Key, Ticket: got.Ticket, ID: requestID, Reason: "resolved"}
	switch as {
	case slot.ResolveDone:
		e.Kind = Done
	case slot.ResolveDead:
		e.Kind = Dead
	case slot.Skip:
		e.Kind, e.Reason = Dead, "skipped"
	default:
		e.Kind = Redriven
	}
	s.journal.tell(e)
	return got, nil
}

func (s steering) Pause(ctx context.Context, l slot.Lane, hold bool) (slot.Seen, error) {
	seen, err := s.Steering.Pause(ctx, l, hold)
	if err == nil {
		e := Event{At: seen.Now, Kind: Resumed, Key: l.Key}
		if hold {
			e.Kind = Paused
		}
		s.journal.Add(e)
	}
	return seen, err
}

func (s steering) Purge(ctx context.Context, l slot.Lane) (slot.Purging, error) {
	purged, err := s.Steering.Purge(ctx, l)
	if err == nil {
		s.journal.Add(Event{Kind: Purged, Key: l.Key})
	}
	return purged, err
}

type starts struct {
	executor.Slots
	journal *Journal
}

func (s starts) Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error) {
	r, err := s.Slots.Reserve(ctx, l, req)
	if err == nil {
		s.journal.reserved(l, req, r)
	}
	return r, err
}

func (s starts) Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error) {
	v, err := s.Slots.Start(ctx, l, req)
	if err != nil {
		return v, err
	}
	if late := takeLateness(ctx); late > 0 && req.Ticket != 0 {
		s.journal.Add(Event{At: v.Now, Kind: Late, Key: l.Key, Ticket: req.Ticket, ID: req.Request, LateMS: late})
	}
	e := Event{At: v.Now, Key: l.Key, Ticket: req.Ticket, ID: req.Request}
	switch v.Verdict {
	case slot.Run:
		if e.Driven = req.Drive != 0; e.Driven {
			e.ID = req.DriveRequest
		}
		e.Kind, e.Ticket, e.Attempt = Granted, v.Grant.Ticket, v.Grant.Attempt
	case slot.Snoozed:
		e.Kind, e.Slot, e.Reason = Snoozed, v.At, v.Reason
		s.journal.stands(l, v.Seen, slot.Standing(v.Reason))
	case slot.AlreadyDone:
		if req.Drive != 0 {
			e.Ticket, e.ID = req.Drive, req.DriveRequest
		}
		s.journal.tellEnd(e, v.Status)
		return v, nil
	default:
		return v, nil
	}
	s.journal.Add(e)
	return v, nil
}

type holes struct {
	executor.Holes
	journal *Journal
}

func (s holes) VoidHead(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error) {
	got, err := s.Holes.VoidHead(ctx, l, h)
	s.journal.voided(l, h.Request, h.Ticket, got, err)
	return got, err
}

func (s holes) Settle(ctx context.Context, l slot.Lane, h slot.Head, status slot.Status) (slot.Looked, error) {
	got, err := s.Holes.Settle(ctx, l, h, status)
	s.journal.voided(l, h.Request, h.Ticket, got, err)
	if err == nil && got.Verdict == slot.AlreadyDone {
		s.journal.tellEnd(Event{At: got.Now, Key: l.Key, Ticket: h.Ticket, ID: h.Request}, status)
	}
	return got, err
}
