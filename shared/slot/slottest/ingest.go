package slottest

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// submit is a client's call, or its repetition: ingest reserves.
func (w *World) submit() error {
	id := fmt.Sprintf("r%d", w.pick(w.Requests))
	w.oracle.Arrives(id)
	req := slot.ReserveRequest{ID: id, Fingerprint: id, Owner: w.owner(), Immediate: w.chance(2), Submitted: time.UnixMilli(1)}
	sent := w.clock.Now()
	res, err := w.reserve(req)
	if err != nil {
		return err
	}
	task := Task{Request: id, Ticket: res.Ticket, Incarnation: res.Incarnation}
	switch res.Verdict {
	case slot.Run:
		w.runs = append(w.runs, run{FinishRequest: slot.FinishRequest{Grant: res.Grant, Request: id, K: -1, Own: true}, task: task})
	case slot.Reserved, slot.Duplicate:
		w.reserved = append(w.reserved, reservation{task, sent, res.Verdict == slot.Duplicate})
	}
	return nil
}

func (w *World) reserve(req slot.ReserveRequest) (slot.Reservation, error) {
	return call(w, func() (slot.Reservation, error) { return w.store.Reserve(w.ctx, w.lane, req) },
		func(res slot.Reservation) { w.oracle.Reserved(req.ID, res) })
}

// create is ingest's CreateTask, in one of its outcomes, and its acknowledgement.
func (w *World) create() error {
	r, ok := take(w, &w.reserved)
	if !ok {
		return nil
	}
	switch w.pick(8) {
	case 0: // ingest dies before it
		return nil
	case 1: // no answer, and it may land later: the client gets 503
		w.queue.landing = append(w.queue.landing, r.Task)
		return nil
	case 2: // it failed for certain
		if r.duplicate {
			return nil
		}
		return w.give(r.Ticket, func() (slot.Looked, error) { return w.store.Void(w.ctx, w.lane, r.Request, r.Ticket, true) })
	}
	w.queue.create(r.Task)
	if !r.duplicate && w.clock.Now()-r.sent < (slot.ConfirmWithin-slot.ConfirmMargin).Milliseconds() {
		w.oracle.Acknowledged(r.Request, r.Ticket)
		return nil
	}
	confirmed, err := call(w, func() (bool, error) {
		return w.store.Confirm(w.ctx, w.lane, r.Request, r.Ticket, r.Incarnation)
	}, func(bool) {})
	if err == nil && confirmed {
		w.oracle.Acknowledged(r.Request, r.Ticket)
	}
	return err
}

// give gives the place of a ticket up.
func (w *World) give(ticket int64, do func() (slot.Looked, error)) error {
	_, err := call(w, do, func(res slot.Looked) {
		if res.Verdict == slot.Voided {
			w.oracle.Voided(ticket, res.Now)
		}
	})
	return err
}
