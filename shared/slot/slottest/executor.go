package slottest

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// deliver has the queue dispatch a task, early, late, or beside another delivery of it.
func (w *World) deliver() error {
	if len(w.queue.tasks) == 0 {
		return nil
	}
	t := w.queue.tasks[w.pick(len(w.queue.tasks))]
	left := []time.Duration{-time.Second, 0, time.Second, slot.InlineWait}[w.pick(4)]
	return w.start(t, w.owner(), left)
}

// wait has a waiting executor look again.
func (w *World) wait() error {
	if req, ok := take(w, &w.waiters); ok {
		return w.start(Task{req.Request, req.Ticket, req.Incarnation, req.K}, req.Owner, req.Left/2)
	}
	return nil
}

func (w *World) start(t Task, owner string, left time.Duration) error {
	req := slot.StartRequest{
		Ticket: t.Ticket, Incarnation: t.Incarnation, Request: t.Request, K: t.K, Owner: owner, Left: left, Jitter: 1,
	}
	res, err := call(w, func() (slot.Started, error) { return w.store.Start(w.ctx, w.lane, req) }, func(res slot.Started) {
		switch res.Verdict {
		case slot.Run:
			w.oracle.Granted(t.Request, res.Grant, res.Now)
		case slot.AlreadyDone:
			w.oracle.AnsweredDone(t.Request, t.Ticket)
		}
	})
	if err != nil {
		return err
	}
	switch res.Verdict {
	case slot.Run:
		w.runs = append(w.runs, run{slot.FinishRequest{Grant: res.Grant, Request: t.Request, K: t.K, Own: true}, t})
	case slot.AlreadyDone:
		w.queue.remove(t)
	case slot.UnknownTicket:
		return w.adopt(t)
	case slot.Snoozed:
		w.succeed(t, Task{t.Request, t.Ticket, t.Incarnation, res.K})
	case slot.Wait:
		w.waiters = append(w.waiters, req)
	}
	return nil
}

// succeed creates the successor of a task and answers 200, unless the executor dies on the way.
func (w *World) succeed(t, next Task) {
	if w.Faults && w.chance(10) {
		return
	}
	w.queue.create(next)
	if w.Faults && w.chance(10) {
		return
	}
	w.queue.remove(t)
}

// adopt gives a request whose ticket is no longer one a new ticket.
func (w *World) adopt(t Task) error {
	res, err := w.reserve(slot.ReserveRequest{
		ID: t.Request, Fingerprint: t.Request, Owner: w.owner(), Adopt: true, Submitted: time.UnixMilli(1),
	})
	if err != nil {
		return err
	}
	switch res.Verdict {
	case slot.Replayed:
		w.queue.remove(t)
	case slot.Reserved, slot.Duplicate:
		w.succeed(t, Task{t.Request, res.Ticket, res.Incarnation, 0})
	}
	return nil
}

func (w *World) renew() error {
	if len(w.runs) == 0 {
		return nil
	}
	g := w.runs[w.pick(len(w.runs))].Grant
	type renewed struct {
		expiry int64
		ok     bool
	}
	_, err := call(w, func() (renewed, error) {
		expiry, ok, err := w.store.Renew(w.ctx, w.lane, g)
		return renewed{expiry, ok}, err
	}, func(r renewed) {
		if r.ok {
			w.oracle.Renewed(g, r.expiry, r.expiry-w.lane.Lease.Milliseconds())
		}
	})
	return err
}

// finish ends a handler, in time or long after its lease.
func (w *World) finish() error {
	if r, ok := take(w, &w.runs); ok {
		return w.end(r, []slot.Outcome{slot.Accept, slot.Accept, slot.Retry, slot.GiveUp}[w.pick(4)])
	}
	return nil
}

func (w *World) end(r run, outcome slot.Outcome) error {
	req := r.FinishRequest
	req.Outcome, req.Counts, req.Jitter = outcome, true, 1
	req.Response = fmt.Appendf(nil, "response under fence %d", req.Grant.Fence)
	res, err := call(w, func() (slot.Finished, error) { return w.store.Finish(w.ctx, w.lane, req) },
		func(res slot.Finished) { w.oracle.Finished(req, res) })
	if err != nil || res.Verdict != slot.OK || !r.Own {
		return err
	}
	next := Task{r.task.Request, r.task.Ticket, r.task.Incarnation, res.K}
	switch {
	case !stays(res.Outcome) && r.K >= 0:
		w.queue.remove(r.task)
	case !stays(res.Outcome): // ingest had no task
	case r.K < 0: // ingest: its first task, and only then the client is told
		w.reserved = append(w.reserved, reservation{Task: next, sent: w.clock.Now()})
	default:
		w.succeed(r.task, next)
	}
	return nil
}

// stays says that an attempt with this end leaves its ticket in the lane.
func stays(o slot.Outcome) bool { return o == slot.Retry || o == slot.Parked }
