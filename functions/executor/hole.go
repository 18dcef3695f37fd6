package executor

import (
	"context"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// inFlight is how long a CreateTask that is under way usually takes at most.
const inFlight = 50 * time.Millisecond

// hole deals with a head whose task the queue does not have.
func (d *delivery) hole(ctx context.Context, v lane.View) (lane.View, step) {
	if v.Next.Unconfirmed() {
		return d.unconfirmed(ctx, v)
	}
	return d.missing(ctx, v)
}

// unconfirmed: past its deadline the ticket is void; before, its CreateTask may be under way, or its ingest be gone. The look
// that found nothing began after Redis showed the head, so a head seen past its deadline proves that the task did not come in
// time; the script compares with the deadline that stands then.
func (d *delivery) unconfirmed(ctx context.Context, v lane.View) (lane.View, step) {
	h := v.Next
	if h.Seen > h.Deadline {
		if !d.queueInOrder(ctx, h) {
			return v, stop
		}
		got, err := d.Holes.VoidHead(ctx, d.lane.Slot, h)
		if err != nil {
			d.unreachable(ctx, "void", err)
			return v, stop
		}
		if got.Verdict == slot.Voided {
			logging.FromContext(ctx).WarnContext(ctx, "hole voided: the queue has no task of it", "head", h.Ticket)
		}
		return d.view(got.Seen), looked
	}
	age := slot.ConfirmWithin - v.Until(h.Deadline)
	if age > time.Second {
		// Look again when the ticket is twice as old, at the latest past its deadline.
		d.kick(ctx, v, min(v.Now+age.Milliseconds(), h.Deadline+1))
		return v, stop
	}
	if clock.Sleep(ctx, d.Clock, inFlight) != nil {
		return v, stop
	}
	now := v
	now.Now += d.Clock.Now().Sub(v.Received).Milliseconds()
	now.Received = d.Clock.Now()
	return now, looked
}

// missing: a confirmed head that the queue denies. Only a queue that works may deny, twice, and then the durable records
// decide; too many at once are a fault of the queue, for an operator to judge.
func (d *delivery) missing(ctx context.Context, v lane.View) (lane.View, step) {
	h := v.Next
	if !d.queueInOrder(ctx, h) {
		return v, stop
	}
	got, err := d.Holes.Missing(ctx, d.lane.Slot, h)
	if err != nil {
		d.unreachable(ctx, "missing", err)
		return v, stop
	}
	switch got.Verdict {
	case slot.Again:
		d.kick(ctx, d.view(got.Seen), got.At)
		return v, stop
	case slot.Check:
		return d.settle(ctx, v)
	default:
		return d.view(got.Seen), looked
	}
}

// queueInOrder says whether a queue that denies the head's task is to be believed: one that is idle may deny tasks for minutes,
// and then denies itself as well.
func (d *delivery) queueInOrder(ctx context.Context, h slot.Head) bool {
	state, err := d.Queue.State(ctx)
	if err == nil && (state == taskqueue.Running || state == taskqueue.Paused) {
		return true
	}
	logging.FromContext(ctx).ErrorContext(ctx, "task of the head not found, and the queue is not in order",
		"head", h.Ticket, "state", string(state), "error", err)
	return false
}

func (d *delivery) settle(ctx context.Context, v lane.View) (lane.View, step) {
	log, h := logging.FromContext(ctx), v.Next
	record, found, err := d.Records.Lookup(ctx, d.env.Key, h.Request)
	if err != nil {
		log.ErrorContext(ctx, "durable record of a missing head not readable", "head", h.Ticket, "error", err)
		return v, stop
	}
	if found = found && lane.Ends(record, h.Ticket); !found {
		record = slot.Record{}
		if ok, err := d.CountMissing(ctx); err != nil || !ok {
			log.Log(ctx, logging.Critical, "too many missing heads: voiding stopped, look at the queue", "head", h.Ticket, "error", err)
			return v, stop
		}
	}
	got, err := d.Holes.Settle(ctx, d.lane.Slot, h, record.Status)
	if err != nil {
		d.unreachable(ctx, "settle", err)
		return v, stop
	}
	if got.Verdict == slot.Voided {
		log.ErrorContext(ctx, "head voided: the queue does not have its task", "head", h.Ticket, "head_request", h.Request)
	}
	return d.view(got.Seen), looked
}
