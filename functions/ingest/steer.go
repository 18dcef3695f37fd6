package ingest

import (
	"context"
	"errors"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Steering are the scripts by which an operator steers a lane. All take constant work.
type Steering interface {
	Resolve(ctx context.Context, l slot.Lane, requestID string, as slot.Resolution, owner string) (slot.Cancelling, error)
	Cancel(ctx context.Context, l slot.Lane, requestID string) (slot.Cancelling, error)
	Pause(ctx context.Context, l slot.Lane, hold bool) (slot.Seen, error)
	Purge(ctx context.Context, l slot.Lane) (slot.Purging, error)
}

// pause holds the lane and answers its state.
func (c *call) pause() error {
	if _, err := c.Steering.Pause(c.r.Context(), c.lane.Slot, true); err != nil {
		return unavailable(err)
	}
	if err := c.Tasks.Marks.Pause(c.r.Context(), c.lane.Slot.Key, true); err != nil {
		return unkept(err)
	}
	c.log("lane paused")
	return c.laneState()
}

// resume lets the lane go on and answers its state. What waited has snoozed for minutes, so a kick starts it.
func (c *call) resume() error {
	seen, err := c.Steering.Pause(c.r.Context(), c.lane.Slot, false)
	if err != nil {
		return unavailable(err)
	}
	if err := c.Tasks.Marks.Pause(c.r.Context(), c.lane.Slot.Key, false); err != nil {
		return unkept(err)
	}
	if err := c.goOn(seen); err != nil {
		return err
	}
	c.log("lane resumed")
	return c.laneState()
}

// purge cancels all that waits and answers the lane's state.
func (c *call) purge() error {
	purged, err := c.Steering.Purge(c.r.Context(), c.lane.Slot)
	if err != nil {
		return unavailable(err)
	}
	if purged.Below > 0 {
		if err := c.Tasks.Marks.Purge(c.r.Context(), c.lane.Slot.Key, purged.Below); err != nil {
			return unkept(err)
		}
	}
	c.log("lane purged", "purged", purged.Requests)
	return c.laneState()
}

// cancel takes a request out while it waits and answers its state.
func (c *call) cancel() error {
	if _, err := c.askedPatience(); err != nil {
		return err
	}
	f, err := c.lookUp()
	if err != nil {
		return err
	}
	decided, err := c.agreedCancel(f)
	if err != nil {
		return err
	}
	got, err := c.Steering.Cancel(c.r.Context(), c.lane.Slot, c.id)
	if err != nil {
		return unavailable(err)
	}
	switch got.Verdict {
	case slot.StillRunning:
		return c.tooLate(f, decided)
	case slot.OutcomeUnknown:
		c.about(c.id, f.Ticket, statusUnknown)
		return problem.New(problem.Conflict, "The request may have run, nobody knows to what end. Say what became of it with /resolve.")
	case slot.AlreadyFinished:
		return c.nothingToCancel(f.Ticket, string(got.Status))
	case slot.None:
		return c.nothingToCancel(f.Ticket, f.status)
	}
	err = c.goOn(got.Seen)
	if f.Parked {
		err = errors.Join(err, c.unmark(got.Ticket))
	}
	if err != nil {
		return err
	}
	c.log("request cancelled", logging.Request, c.id)
	env := taskqueue.Envelope{Key: c.lane.Slot.Key, ID: c.id, Incarnation: got.Incarnation, Ticket: got.Ticket, Submitted: f.Submitted}
	if err := c.persistSettled(c.r.Context(), env); err != nil && c.lane.Policy.Durable {
		return unkept(err)
	}
	return c.request()
}

// agreedCancel has the durable store decide that a request which has run before is cancelled, where results are left to it: that run
// may have had its own decided. It says whether it is.
func (c *call) agreedCancel(f found) (decided bool, err error) {
	switch {
	case !c.lane.StoreDecides():
		return false, nil
	case f.status == statusRunning:
		return false, c.tooLate(f, false)
	case f.status != statusQueued || f.Attempts == 0:
		return false, nil
	}
	r := f.Record
	r.ID, r.Fence, r.Status, r.Finished, r.Response = c.id, noRun, slot.Cancelled, c.Clock.Now(), nil
	held, err := c.Records.Decide(c.r.Context(), c.lane, taskqueue.Envelope{}, r)
	switch {
	case err != nil:
		return false, unavailable(err)
	case held.Status != slot.Cancelled:
		return false, c.nothingToCancel(f.Ticket, f.status)
	}
	return true, nil
}

// tooLate answers for a request that runs, also one that has started since the store decided that it is cancelled.
func (c *call) tooLate(f found, decided bool) error {
	c.about(c.id, f.Ticket, statusRunning)
	if decided {
		return problem.New(problem.Conflict, "The request has started meanwhile. It runs, but its result will be that it was cancelled.")
	}
	return problem.New(problem.Conflict, "The request is running: it cannot be cancelled any more. Ask for its result.")
}

func (c *call) nothingToCancel(ticket int64, status string) error {
	c.about(c.id, ticket, status)
	return problem.New(problem.Conflict, "The request has ended: there is nothing to cancel. Ask for its result.")
}

// unkept answers for what Redis was told, but not what outlives it.
func unkept(err error) error {
	return problem.New(problem.Unavailable, "Done, but a loss of Redis could undo it: Firestore is out of reach. Send the call again.").WithCause(err)
}

// unmark keeps outside Redis that the lane stands on a ticket no longer.
func (c *call) unmark(ticket int64) error {
	if err := c.Tasks.Marks.Unpark(c.r.Context(), c.lane.Slot.Key, ticket); err != nil {
		return unkept(err)
	}
	return nil
}

// goOn leaves a kick where the head may start and nobody will be there for it in time. Here it is the only one who would, so
// a failure is the caller's to hear: the call can be repeated.
func (c *call) goOn(seen slot.Seen) error {
	if lane.Attended(c.lane, seen) {
		return nil
	}
	v := lane.View{Seen: seen, Received: c.Clock.Now()}
	if err := c.Tasks.Kick(c.r.Context(), c.lane, v, seen.Next.At); err != nil {
		return unavailable(err)
	}
	return nil
}

func (c *call) log(message string, pairs ...any) {
	ctx := c.r.Context()
	logging.FromContext(ctx).With(logging.Lane, c.lane.Slot.Key).InfoContext(ctx, message, pairs...)
}
