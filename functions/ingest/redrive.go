package ingest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// redriveBudget bounds one redrive of all dead letters of a lane: the next call goes on.
const redriveBudget = 50 * time.Second

// errEnough says that a redrive has used its time up.
var errEnough = errors.New("the time of one redrive is over")

// redriven is the body of the answer to a redrive of all.
type redriven struct {
	// Redriven counts what runs again; More says that time ran out before all dead letters did.
	Redriven int  `json:"redriven"`
	More     bool `json:"more"`
}

// redrive runs one dead letter again: in its place where the lane is parked on it, else at the tail. The id stays.
func (c *call) redrive() error {
	f, unknown := c.lookUp()
	switch {
	case unknown != nil && !errors.Is(unknown, problem.UnknownRequest):
		return unknown
	case f.Parked:
		return c.redriveParked(f)
	}
	ctx := context.WithoutCancel(c.r.Context())
	letter, found, err := c.Records.DeadLetter(ctx, c.lane, c.id)
	switch {
	case err != nil:
		return unavailable(err)
	case !found && unknown != nil:
		return unknown // a letter may outlive what else is known: its place at the tail was given up, say
	case !found:
		c.about(c.id, f.Ticket, f.status)
		return problem.New(problem.Conflict, "The request is no dead letter: it is "+f.status+", or nobody had its body when it was given up.")
	}
	return c.again(letter).redrive(ctx)
}

// redriveParked has the head run again in its place.
func (c *call) redriveParked(f found) error {
	seen, err := c.unpark(c.id)
	if err != nil {
		return err
	}
	s := &submitting{call: c, submission: submission{envelope: taskqueue.Envelope{Key: c.lane.Slot.Key, ID: c.id}}}
	return s.accepted(place{View: s.view(seen), ticket: f.Ticket, slot: max(seen.Now, seen.Next.At), position: 1, status: statusQueued})
}

// unpark sets the parked head free, with all its attempts.
func (c *call) unpark(id string) (slot.Seen, error) {
	got, err := c.Steering.Resolve(c.r.Context(), c.lane.Slot, id, slot.Redrive, c.Random.Nonce())
	switch {
	case err != nil:
		return slot.Seen{}, unavailable(err)
	case got.Verdict != slot.OK:
		return slot.Seen{}, problem.New(problem.Conflict, unsettled(got.Verdict, slot.Redrive))
	}
	c.log("request redriven in place", logging.Request, id)
	return got.Seen, errors.Join(c.goOn(got.Seen), c.unmark(got.Ticket))
}

// redriveAll runs all dead letters of the lane again, in ticket order: the parked head first, in its place.
func (c *call) redriveAll() error {
	ctx, began := context.WithoutCancel(c.r.Context()), c.Clock.Now()
	var done redriven
	s, _, err := c.Inspector.Inspect(ctx, c.lane.Slot, "")
	if err != nil {
		return unavailable(err)
	}
	if s.Stands == slot.StandsParked {
		if _, err := c.unpark(s.Next.Request); err != nil {
			return err
		}
		done.Redriven++
	}
	err = c.Records.EachDeadLetter(ctx, c.lane, func(letter record.Record) error {
		if c.Clock.Now().Sub(began) > redriveBudget {
			return errEnough
		}
		one := c.again(letter)
		one.quiet = true
		err := one.redrive(ctx)
		switch {
		case err == nil:
			done.Redriven++
		case errors.Is(err, problem.Conflict):
			return nil // somebody else was faster
		}
		return err
	})
	switch {
	case errors.Is(err, errEnough):
		done.More = true
	case err != nil && done.Redriven > 0:
		done.More = true
		logging.FromContext(ctx).WarnContext(ctx, "redrive of all ended early", logging.Error, err.Error())
	case errors.Is(err, problem.Unavailable), errors.Is(err, problem.OutcomeUnknown):
		return err
	case err != nil:
		return unavailable(err)
	}
	return c.json(http.StatusAccepted, done)
}

// again is the submission that a dead letter once was.
func (c *call) again(letter record.Record) *submitting {
	p := letter.Payload
	return &submitting{
		call: c, owner: c.Random.Nonce(), letter: &letter,
		submission: submission{envelope: taskqueue.Envelope{
			V: taskqueue.Version, Kind: taskqueue.KindRequest, Key: letter.Key, ID: letter.ID, Target: letter.Target, Header: p.Header,
			IdempotencyKey: p.IdempotencyKey, Submitted: letter.Submitted, Traceparent: p.Traceparent, Body: p.Body,
			Fingerprint: letter.Fingerprint,
		}},
	}
}

// redrive gives a dead letter a place at the tail. Its dead record goes once its new task is durable: where that fails it is
// listed until the request ends again, and another redrive joins this one.
func (s *submitting) redrive(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	log := logging.FromContext(ctx)
	if s.duplicate {
		// The place is another redrive's, which removes the record; or that of the attempt whose end Redis has lost in a failover, and
		// then nothing but the record knows about the request: its task is gone.
		log.InfoContext(ctx, "request redriven already", logging.Request, s.envelope.ID)
		return nil
	}
	log.InfoContext(ctx, "request redriven at the tail", logging.Request, s.envelope.ID)
	if err := s.Records.RemoveDeadLetter(ctx, s.lane, *s.letter); err != nil {
		log.WarnContext(ctx, "redriven request is still among the dead letters", logging.Request, s.envelope.ID, logging.Error, err.Error())
	}
	return nil
}

func noDeadLetter() error {
	return problem.New(problem.Conflict, "The request is no dead letter any more. Ask for its state.")
}
