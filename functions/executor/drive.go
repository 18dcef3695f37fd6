package executor

import (
	"context"
	"errors"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

const (
	// maxDrives bounds how often a waiter drives before it snoozes.
	maxDrives = 100
	// maxIdle bounds the looks at heads in a row that end without a run.
	maxIdle = 8
	// maxParallel bounds the drivers of one delivery on a lane of high concurrency.
	maxParallel = 64
	// fitMargin is what a run must leave of the dispatch deadline beside its target's timeout.
	fitMargin = 5 * time.Second
)

// goOn drives the lane while its head is runnable and nobody is there for it. What does not fit into half of the dispatch
// deadline, or starts later than the inline wait, is left to a kick.
func (d *delivery) goOn(ctx context.Context, v lane.View) {
	for idle := 0; ; {
		h := v.Next
		if lane.Attended(d.lane, v.Seen) || ctx.Err() != nil {
			return
		}
		if idle >= maxIdle || d.spent() || d.draining() || v.Until(h.At) > slot.InlineWait {
			d.kick(ctx, v, h.At)
			return
		}
		next, step := d.driveHead(ctx, v)
		switch step {
		case ran:
			idle = 0
		case looked:
			idle++
		case stop:
			return
		}
		v = next
	}
}

// spent says that a further run might not fit what is left of the dispatch deadline.
func (d *delivery) spent() bool {
	deadline, age := d.lane.DispatchDeadline(), d.Clock.Now().Sub(d.began)
	return age > deadline/2 || age+d.lane.Timeout+fitMargin > deadline
}

func (d *delivery) kick(ctx context.Context, v lane.View, at int64) {
	if err := d.Tasks.Kick(context.WithoutCancel(ctx), d.lane, v, at); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "kick not left: the lane waits for its next task", "error", err)
	}
}

// step is what came of looking at a head.
type step int

const (
	looked step = iota // no run, but the lane may have moved
	ran                // the head ran
	stop               // somebody else's turn
)

// driveHead fetches the head's body, waits for its instant, and runs it. The body comes first: never a lease without one.
func (d *delivery) driveHead(ctx context.Context, v lane.View) (lane.View, step) {
	h := v.Next
	env, err := d.fetch(ctx, v)
	switch {
	case errors.Is(err, taskqueue.ErrNotFound):
		return d.hole(ctx, v)
	case err != nil:
		logging.FromContext(ctx).ErrorContext(ctx, "body of the head not fetched", "head", h.Ticket, "error", err)
		return v, stop
	}
	if clock.Sleep(ctx, d.Clock, v.Local(h.At).Sub(d.Clock.Now())) != nil {
		return v, stop
	}
	started, sent, err := d.start(ctx, slot.StartRequest{Owner: d.Random.Nonce(), Drive: h.Ticket, DriveRequest: h.Request})
	if err != nil {
		d.unreachable(ctx, "drive", err)
		return v, stop
	}
	if started.Verdict != slot.Run {
		d.expired(ctx, started, h.Ticket, h.Request)
		return d.view(started.Seen), looked
	}
	d.Observe(Drove)
	ended, err := d.run(ctx, started, sent, env, false)
	if err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "driven run not finished", "head", h.Ticket, "error", err)
		return v, stop
	}
	d.persistent(ctx, env, started.Grant, ended)
	if ended.Verdict == slot.OK && ended.Outcome == slot.Parked {
		d.park(ctx, h.Ticket)
	}
	return d.view(ended.Seen), ran
}

// driveBeside drives the head in a goroutine of its own, on lanes of concurrency > 1 with leases to spare.
func (d *delivery) driveBeside(ctx context.Context, v lane.View) {
	if v.Next.At == 0 || v.Next.Here {
		return
	}
	d.drivers.Lock()
	defer d.drivers.Unlock()
	if d.parallel >= maxParallel {
		return
	}
	d.parallel++
	d.beside.Add(1)
	d.Clock.Go(func() {
		defer d.beside.Done()
		d.goOn(ctx, v)
		d.drivers.Lock()
		defer d.drivers.Unlock()
		d.parallel--
	})
}
