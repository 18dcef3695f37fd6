package executor

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// delivery is one call of Cloud Tasks, and what it drives.
type delivery struct {
	*Executor
	lane  lane.Lane
	env   taskqueue.Envelope
	began time.Time
	owner string

	beside   sync.WaitGroup // drivers beside the own run, on lanes of concurrency > 1
	drivers  sync.Mutex     // guards parallel and ahead
	parallel int
	ahead    *prefetched
}

// request handles a task of a ticket.
func (d *delivery) request(ctx context.Context) int {
	w := newWaiter(d)
	defer w.close()
	for drives := 0; ; {
		if drives > 0 && d.spent() {
			return http.StatusConflict // an own run might be cut off: the redelivery has time for it
		}
		left := w.left()
		if drives >= maxDrives || d.draining() {
			left = -1
		}
		v, sent, err := d.start(ctx, slot.StartRequest{Owner: d.owner, Left: left})
		if err != nil {
			return d.unreachable(ctx, "start", err)
		}
		switch v.Verdict {
		case slot.AlreadyDone:
			d.expired(ctx, v, d.env.Ticket, d.env.ID)
			logging.FromContext(ctx).InfoContext(ctx, "request found ended", logging.Ticket, d.env.Ticket, logging.Request, d.env.ID,
				logging.Verdict, string(v.Verdict), "status", string(v.Status))
			durable := d.persistentEnd(ctx, v)
			d.goOn(ctx, d.view(v.Seen))
			return durable()
		case slot.UnknownTicket:
			if status, again := d.adopt(ctx); !again {
				return status
			}
			continue
		case slot.Run:
			return d.runOwn(ctx, v, sent)
		case slot.Snoozed:
			d.Observe(Snoozed)
			logging.FromContext(ctx).InfoContext(ctx, "request snoozed", logging.Ticket, d.env.Ticket, logging.Request, d.env.ID,
				logging.Verdict, string(v.Verdict), "reason", v.Reason, "snoozes", v.K, "for_ms", v.At-v.Now)
			d.stands(ctx, v)
			return d.succeed(ctx, d.view(v.Seen), v.K, v.At)
		}
		view := d.view(v.Seen)
		if v.Overdue {
			drives++
			if next, step := d.driveHead(ctx, view); step == ran {
				d.goOn(ctx, next)
				continue
			}
		}
		w.wait(ctx, view, v)
	}
}

// kicked handles a kick: it only drives.
func (d *delivery) kicked(ctx context.Context) int {
	v, _, err := d.start(ctx, slot.StartRequest{Owner: d.owner, Kick: d.env.Seq, Left: -1})
	if err != nil {
		return d.unreachable(ctx, "start kick", err)
	}
	if v.Verdict != slot.UnknownTicket {
		d.goOn(ctx, d.view(v.Seen))
	}
	return http.StatusOK
}

// start calls the script with the own ticket filled in, and says when the call was sent.
func (d *delivery) start(ctx context.Context, req slot.StartRequest) (slot.Started, time.Time, error) {
	req.Ticket, req.Incarnation, req.Request, req.K = d.env.Ticket, d.env.Incarnation, d.env.ID, d.env.K
	req.Jitter = d.Random.Jitter(0.2)
	sent := d.Clock.Now()
	v, err := d.Slots.Start(ctx, d.lane.Slot, req)
	return v, sent, err
}

func (d *delivery) view(s slot.Seen) lane.View { return lane.View{Seen: s, Received: d.Clock.Now()} }

func (d *delivery) runOwn(ctx context.Context, v slot.Started, sent time.Time) int {
	ended, err := d.run(ctx, v, sent, d.env, true)
	switch {
	case errors.Is(err, lane.ErrLeaseLost):
		return http.StatusConflict
	case errors.Is(err, lane.ErrUndecided):
		logging.FromContext(ctx).ErrorContext(ctx, "attempt left undecided: the redelivery asks the durable store first",
			logging.Ticket, v.Grant.Ticket, logging.Request, d.env.ID, logging.Error, err.Error())
		return http.StatusConflict
	case err != nil:
		return d.unreachable(ctx, "run", err)
	case ended.Verdict != slot.OK:
		// Another grant ended it, or has it: the redelivery finds what happened.
		return http.StatusConflict
	}
	durable := d.persistent(ctx, d.env, v.Grant, ended)
	if ended.Outcome == slot.Parked {
		d.park(ctx, v.Grant.Ticket)
	}
	if ended.Outcome == slot.Retry || ended.Outcome == slot.Parked {
		status := d.succeed(ctx, d.view(ended.Seen), ended.K, ended.Due)
		durable = func() int { return status }
	}
	d.goOn(ctx, d.view(ended.Seen))
	return durable()
}

// run runs a granted ticket. On a lane that may run several at once it drives the others beside; else it fetches the body
// that it will probably drive next while the target works.
func (d *delivery) run(ctx context.Context, v slot.Started, sent time.Time, env taskqueue.Envelope, own bool) (lane.Ended, error) {
	if view := d.view(v.Seen); d.lane.Slot.Concurrency > 1 {
		d.driveBeside(ctx, view)
	} else {
		d.prefetch(ctx, view)
	}
	// A run goes on when Cloud Tasks hangs up: its effect is under way, and only its end can be recorded.
	return d.Runner.Run(context.WithoutCancel(ctx), lane.Attempt{
		Lane: d.lane, Grant: v.Grant, Request: env, Sent: sent, K: env.K, Own: own, Adopted: v.Grant.Ticket < v.Incarnation,
	})
}

// succeed makes the successor of the own task durable before this one is answered 200.
func (d *delivery) succeed(ctx context.Context, v lane.View, k int, at int64) int {
	next := d.env
	next.K = k
	if err := d.Tasks.Create(ctx, d.lane, next, v, at); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "successor task not created: this one stays", "error", err)
		return http.StatusConflict
	}
	return http.StatusOK
}

// adopt takes a request that this life of the lane does not know: its place was given up, or Redis was lost. It is not
// answered 200 before a task of its new ticket is durable; where it keeps incarnation and ticket its task is this one, and again
// says to start it.
func (d *delivery) adopt(ctx context.Context) (status int, again bool) {
	if record, found, err := d.Records.Lookup(ctx, d.env.Key, d.env.ID); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "durable record not readable", "error", err)
		return http.StatusConflict, false
	} else if found && lane.Ends(record, d.env.Ticket) {
		return http.StatusOK, false
	}
	r, err := d.Slots.Reserve(ctx, d.lane.Slot, slot.ReserveRequest{
		ID: d.env.ID, Fingerprint: d.env.Fingerprint, Owner: d.owner, Adopt: true, Submitted: d.env.Submitted, Target: d.env.Target,
		Deadline: d.env.Deadline, Ticket: d.env.Ticket, K: d.env.K,
	})
	if err != nil {
		return d.unreachable(ctx, "reserve", err), false
	}
	log := logging.FromContext(ctx).With(logging.Ticket, d.env.Ticket, logging.Request, d.env.ID)
	switch {
	case r.Verdict == slot.Replayed:
		return d.persist(ctx, d.env, r.Record), false
	case r.Verdict == slot.Mismatch:
		// Cancelled, and its key used for another request since.
		return http.StatusOK, false
	case r.Verdict == slot.Purged:
		log.InfoContext(ctx, "request found purged")
		return http.StatusOK, false
	case r.Ticket == d.env.Ticket && r.Incarnation == d.env.Incarnation:
		log.InfoContext(ctx, "request adopted in its place")
		return 0, true
	}
	log.InfoContext(ctx, "request adopted", "new_ticket", r.Ticket, "new_incarnation", r.Incarnation)
	d.env.Incarnation, d.env.Ticket = r.Incarnation, r.Ticket
	return d.succeed(ctx, d.view(r.Seen), 0, r.Due), false
}

// expired warns of a request that died of its deadline, once: no attempt of it ends.
func (d *delivery) expired(ctx context.Context, v slot.Started, ticket int64, request string) {
	if v.Verdict == slot.AlreadyDone && v.Reason == slot.ReasonDeadline {
		logging.FromContext(ctx).WarnContext(ctx, "request died waiting", logging.Ticket, ticket, logging.Request, request,
			"outcome", string(v.Status), "reason", v.Reason)
	}
}

// stands sees to a lane that stands until an operator speaks. The task of the head does, since all that wait behind it come as often;
// any where the head may have no task, as its ingest died while it ran it.
func (d *delivery) stands(ctx context.Context, v slot.Started) {
	why, own := slot.Standing(v.Reason), v.Next.Ticket == d.env.Ticket
	if (why == slot.StandsParked || why == slot.StandsUnknown) && (own || v.Next.Unconfirmed()) {
		lane.LogStanding(ctx, v.Next.Ticket, v.Next.Request, why)
	}
	if why == slot.StandsParked && own {
		d.park(ctx, d.env.Ticket)
	}
}

// park keeps outside Redis that the lane stands on a ticket. Where it fails the task of that ticket does it, when it comes.
func (d *delivery) park(ctx context.Context, ticket int64) {
	if err := d.Tasks.Marks.Park(context.WithoutCancel(ctx), d.env.Key, ticket); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "parked ticket not kept outside redis", logging.Ticket, ticket, "error", err)
	}
}

// unreachable answers for scripts that failed: 503 when Redis is out of reach, since nothing can run, and Cloud Tasks slows the whole
// queue down. What befalls one lane, as a Firestore that cannot tell its marks, must not slow the others: 409.
func (d *delivery) unreachable(ctx context.Context, op string, err error) int {
	logging.FromContext(ctx).ErrorContext(ctx, "lane scripts failed", "operation", op, "error", err)
	if redisconn.IsUnreachable(err) && !errors.Is(err, slot.ErrMarks) {
		return http.StatusServiceUnavailable
	}
	return http.StatusConflict
}

func (e *Executor) draining() bool {
	select {
	case <-e.Drain.Closed():
		return true
	default:
		return false
	}
}
