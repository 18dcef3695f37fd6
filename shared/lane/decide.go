package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// ErrUndecided says that the target has answered and the durable store could not be asked whether that answer is the result. The
// lease is left to lapse; who takes the request over asks the store before it calls the target.
var ErrUndecided = errors.New("the durable store did not decide how the attempt ended")

// Endings is the script that tells how an attempt would end.
type Endings interface {
	Ending(ctx context.Context, lane slot.Lane, req slot.FinishRequest) (slot.Ending, error)
}

// Decider has the durable store decide how attempts end, on lanes whose policy says so: the record is created there, if absent,
// before FINISH, which then gets what the store holds. So a request has one result, also where its lease was lost, or Redis, and
// it ran twice. It is safe for concurrent use.
type Decider struct {
	Slots   Endings
	Records Records
}

// decides says whether the store decides on the lane of an attempt.
func (d *Decider) decides(l Lane) bool {
	return d != nil && d.Records.decides(l)
}

func (s Records) decides(l Lane) bool {
	return s.Store != nil && l.StoreDecides()
}

// Decide has the durable store decide that a request ends as r says, without a run, where the policy of the lane leaves that to the
// store: a run that lost its lease may have had it decided before. It returns what the store holds; of other lanes, r. It may be
// repeated.
func (s Records) Decide(ctx context.Context, l Lane, e taskqueue.Envelope, r slot.Record) (held slot.Record, err error) {
	if !s.decides(l) {
		return r, nil
	}
	return s.decide(ctx, l, e, r)
}

const (
	// reasonUndecided is why an attempt that could not ask the store ends without a call of the target.
	reasonUndecided = "undecided"
	// undecidedAfter is when it is tried again.
	undecidedAfter = 5 * time.Second
)

// before finds out whether a run before this one has ended the request: only a first attempt has none before it. call is false where the target must not be called: then held is its end or,
// where that is nil, result says to try again.
func (r *Runner) before(ctx context.Context, a Attempt) (held *slot.Record, result target.Result, call bool) {
	if a.Grant.Attempt <= 1 && !a.Adopted || !r.Decider.decides(a.Lane) {
		return nil, target.Result{}, true
	}
	found, ok, err := r.Decider.Records.Lookup(ctx, a.Lane.Slot.Key, a.Request.ID)
	switch {
	case err != nil:
		return nil, target.Result{Outcome: target.Retry, Reason: reasonUndecided, RetryAfter: undecidedAfter, Err: err}, false
	case !ok || !Ends(found, a.Grant.Ticket):
		return nil, target.Result{}, true
	}
	return &found, target.Result{}, false
}

// decide has the store decide, and returns what it holds then; nil where there is nothing to decide: FINISH tells why. Each try
// looks first whether the lease is still this attempt's, and renews it. The error is ErrUndecided or that of Redis.
func (r *Runner) decide(ctx context.Context, a Attempt, l slot.Lane, req slot.FinishRequest) (*slot.Record, error) {
	if !r.Decider.decides(a.Lane) {
		return nil, nil
	}
	wait := newBackoff()
	for began := r.Clock.Now(); ; {
		ending, err := r.Decider.Slots.Ending(ctx, l, req)
		if err == nil {
			if !ending.Ends() {
				return nil, nil
			}
			var held slot.Record
			if held, err = r.Decider.Records.decide(ctx, a.Lane, a.Request, ending.Record); err == nil {
				return &held, nil
			}
			if errors.Is(err, record.ErrInvalid) { // no later try can do better
				logging.FromContext(ctx).ErrorContext(ctx, "record cannot be made durable", logging.Request, a.Request.ID, logging.Error, err.Error())
				return nil, nil
			}
			err = fmt.Errorf("%w: %w", ErrUndecided, err)
		}
		if r.Clock.Now().Sub(began) > finishBudget || errors.Is(err, slot.ErrGeneration) {
			return nil, err
		}
		if err := clock.Sleep(ctx, r.Clock, r.jittered(wait)); err != nil {
			return nil, err
		}
	}
}

// as makes req end the attempt as the store says.
func as(held slot.Record, req slot.FinishRequest) slot.FinishRequest {
	if held.Fence == req.Grant.Fence && held.Ticket == req.Grant.Ticket {
		return req
	}
	req.Outcome, req.Reason, req.Detail, req.Response = slot.Outcome(held.Status), held.Reason, held.Detail, held.Response
	return req
}
