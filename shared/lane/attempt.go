package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// ErrLeaseLost is the cause with which the target's context ends when the lease has lapsed or is another's.
var ErrLeaseLost = target.ErrLeaseLost

// finishBudget bounds how long an attempt tries to report its end to a Redis that does not answer. The effect has happened:
// giving up means one more run, so it tries for longer than a failover of Memorystore usually takes.
const finishBudget = 20 * time.Second

// Slots are the scripts that an attempt calls.
type Slots interface {
	Renew(ctx context.Context, lane slot.Lane, g slot.Grant) (expiry int64, ok bool, err error)
	Finish(ctx context.Context, lane slot.Lane, req slot.FinishRequest) (slot.Finished, error)
}

// Targets finds a target by its configured name.
type Targets interface {
	Get(name string) (target.Target, bool)
}

// Runner runs attempts. It is safe for concurrent use.
type Runner struct {
	Slots   Slots
	Targets Targets
	// Decider serves lanes where the durable store decides; nil where there is no such store.
	Decider *Decider
	Clock   clock.Clock
	Random  clock.Random
}

// Attempt is one run of a granted ticket.
type Attempt struct {
	Lane    Lane
	Grant   slot.Grant
	Request taskqueue.Envelope
	// Sent is when the call that granted the lease was sent: the lease is at least as old as its answer, at most as old as
	// this.
	Sent time.Time
	// K is the snooze count of the caller's own task, -1 for ingest, whose ticket has none yet.
	K int
	// Own says that the ticket is the caller's own.
	Own bool
	// Adopted says that the ticket is of an earlier life of the lane, in which it may have run.
	Adopted bool
}

// Ended is what an attempt came to.
type Ended struct {
	slot.Finished
	Result target.Result
	// FinishSent is when Finish was first sent, or a little earlier: a retry arms the confirm deadline no sooner.
	FinishSent time.Time
	// Decided says that Record is in the durable store already, which decided it. Where it is Another run's result that the store
	// held, Result is not what the request came to.
	Decided, Another bool
}

// Run calls the target under the lease, renews the lease while the target works, and finishes. The error is ErrLeaseLost
// when the lease was gone before the target was called, or while it worked on a lane that holds what is ambiguous; ErrUndecided; or
// that of Redis: then the attempt's end is not recorded.
func (r *Runner) Run(ctx context.Context, a Attempt) (Ended, error) {
	held, result, call := r.before(ctx, a)
	end, err := r.freshen(ctx, a)
	if err != nil {
		return Ended{}, err
	}
	if call {
		result = r.call(ctx, a, end)
		if result.Reason == target.ReasonLeaseLost && a.Lane.Slot.HoldAmbiguous {
			// The target may have done the work: as a retry it would run again by itself. Unfinished, it is unknown.
			logging.FromContext(ctx).WarnContext(ctx, "attempt cut off with its lease: its outcome is unknown", logging.Ticket, a.Grant.Ticket,
				logging.Request, a.Request.ID, logging.Attempt, a.Grant.Attempt)
			return Ended{}, ErrLeaseLost
		}
	}
	ended, err := r.end(context.WithoutCancel(ctx), a, result, held)
	if err != nil {
		return Ended{}, err
	}
	r.log(ctx, a, ended)
	return ended, nil
}

// end finishes an attempt with its result, or with what the store held before it.
func (r *Runner) end(ctx context.Context, a Attempt, result target.Result, held *slot.Record) (Ended, error) {
	l, req, err := r.finishing(a, result)
	if err != nil {
		return Ended{}, err
	}
	if held == nil {
		if held, err = r.decide(ctx, a, l, req); err != nil {
			return Ended{}, err
		}
	}
	out := Ended{Result: result, FinishSent: r.Clock.Now()}
	if held != nil {
		req, l.Park = as(*held, req), false
	}
	if out.Finished, err = r.finish(ctx, l, req); err != nil {
		return Ended{}, err
	}
	if held != nil && out.Verdict == slot.OK {
		out.Record, out.Decided, out.Another = *held, true, held.Fence != a.Grant.Fence || held.Ticket != a.Grant.Ticket
	}
	return out, nil
}

// freshen makes sure that the lease is young enough to call a target under it, and returns when it ends by our clock: a pause
// between the grant and this line may have eaten it up.
func (r *Runner) freshen(ctx context.Context, a Attempt) (time.Time, error) {
	lease := a.Lane.Slot.Lease
	for sent := a.Sent; ; {
		if r.Clock.Now().Sub(sent) <= lease*2/3 {
			return sent.Add(lease), nil
		}
		sent = r.Clock.Now()
		_, ok, err := r.Slots.Renew(ctx, a.Lane.Slot, a.Grant)
		if err != nil {
			return time.Time{}, err
		}
		if !ok {
			return time.Time{}, ErrLeaseLost
		}
	}
}

func (r *Runner) call(ctx context.Context, a Attempt, end time.Time) target.Result {
	t, ok := r.Targets.Get(a.Request.Target)
	if !ok {
		return target.Result{Outcome: target.Retry, Reason: "target-missing"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	r.Clock.Go(func() {
		defer close(stopped)
		r.renew(ctx, a, end, cancel)
	})
	result := t.Do(ctx, request(a))
	cancel(context.Canceled)
	<-stopped
	return result
}

// renew keeps the lease alive until ctx ends, and ends ctx with ErrLeaseLost when it cannot.
func (r *Runner) renew(ctx context.Context, a Attempt, end time.Time, cancel context.CancelCauseFunc) {
	lease := a.Lane.Slot.Lease
	for {
		left := end.Sub(r.Clock.Now())
		if left <= 0 {
			cancel(ErrLeaseLost)
			return
		}
		if clock.Sleep(ctx, r.Clock, min(lease/3, left)) != nil {
			return
		}
		sent := r.Clock.Now()
		try, stop := clock.WithTimeout(ctx, r.Clock, min(lease/3, max(end.Sub(sent), time.Millisecond)), context.DeadlineExceeded)
		_, ok, err := r.Slots.Renew(try, a.Lane.Slot, a.Grant)
		stop()
		switch {
		case err == nil && ok:
			end = sent.Add(lease)
		case err == nil:
			cancel(ErrLeaseLost)
			return
		}
	}
}

func request(a Attempt) target.Request {
	e := a.Request
	return target.Request{
		Key: e.Key, ID: e.ID, Ticket: a.Grant.Ticket, Fence: a.Grant.Fence, Attempt: a.Grant.Attempt,
		IdempotencyKey: e.IdempotencyKey, Header: e.Header, Body: e.Body, Traceparent: e.Traceparent,
	}
}

// missingTargetAge is the age at which a request gives up waiting for its target to be configured: never, in practice.
const missingTargetAge = 365 * 24 * time.Hour

// finishing is what FINISH is told of an attempt.
func (r *Runner) finishing(a Attempt, result target.Result) (slot.Lane, slot.FinishRequest, error) {
	req := slot.FinishRequest{
		Grant: a.Grant, Request: a.Request.ID, Outcome: outcome(result.Outcome), Reason: result.Reason, Detail: detail(result), K: a.K, Own: a.Own,
		RetryAfter: result.RetryAfter, Counts: result.Counts, Jitter: r.Random.Jitter(0.2),
	}
	l := a.Lane.Slot
	if result.Reason == "target-missing" || result.Reason == reasonUndecided {
		l.MaxAge = missingTargetAge
	}
	var err error
	req.Response, err = EncodeResponse(result.Response, a.Lane.StoredLimit())
	return l, req, err
}

func (r *Runner) finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	wait := newBackoff()
	for began := r.Clock.Now(); ; {
		finished, err := r.Slots.Finish(ctx, l, req)
		if err == nil || r.Clock.Now().Sub(began) > finishBudget || errors.Is(err, slot.ErrGeneration) {
			return finished, err
		}
		if err := clock.Sleep(ctx, r.Clock, r.jittered(wait)); err != nil {
			return slot.Finished{}, err
		}
	}
}

func newBackoff() *backoff.ExponentialBackOff {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.RandomizationFactor = 50*time.Millisecond, 2*time.Second, 0
	return wait
}

func (r *Runner) jittered(wait *backoff.ExponentialBackOff) time.Duration {
	return time.Duration(float64(wait.NextBackOff()) * r.Random.Jitter(0.5))
}

// detail is what clients are told of a failure beside its reason: of errors only the log has the text, which may name addresses.
func detail(r target.Result) string {
	if r.Outcome == target.Accept || r.Response == nil {
		return ""
	}
	return fmt.Sprintf("the target answered %d", r.Response.Status)
}

func outcome(o target.Outcome) slot.Outcome {
	switch o {
	case target.Accept:
		return slot.Accept
	case target.Final:
		return slot.GiveUp
	default:
		return slot.Retry
	}
}

func (r *Runner) log(ctx context.Context, a Attempt, ended Ended) {
	f, result := ended.Finished, ended.Result
	level := slog.LevelInfo
	if result.Outcome != target.Accept && !ended.Another {
		level = slog.LevelWarn
	}
	logging.FromContext(ctx).Log(ctx, level, "attempt ended",
		logging.Ticket, a.Grant.Ticket, logging.Request, a.Request.ID,
		logging.Attempt, a.Grant.Attempt, "slip_ms", a.Grant.Slip.Milliseconds(), logging.Verdict, string(f.Verdict), "outcome", string(f.Outcome),
		"age_ms", r.Clock.Now().Sub(a.Request.Submitted).Milliseconds(),
		"reason", result.Reason, "another", ended.Another, logging.ClientTrace, logging.ParseTraceparent(a.Request.Traceparent).TraceID, "error", result.Err)
	if f.Outcome == slot.Parked {
		LogStanding(ctx, a.Grant.Ticket, a.Request.ID, slot.StandsParked)
	}
}

// LogStanding warns that the lane stands on a request, parked or unknown: only an operator gets it going.
func LogStanding(ctx context.Context, ticket int64, request string, why slot.Standing) {
	logging.FromContext(ctx).WarnContext(ctx, "lane stands until an operator speaks",
		logging.Ticket, ticket, logging.Request, request, "why", string(why))
}
