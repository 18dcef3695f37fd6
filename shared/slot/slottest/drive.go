package slottest

import "github.com/seriatim/seriatim/shared/slot"

// drive looks at the lane, or acts on what it saw some time ago: it runs the head whose task it finds, and gives up the one
// whose task is not there.
func (w *World) drive() error {
	if w.state.Next.Ticket != 0 && w.chance(2) {
		state := w.state
		w.state = slot.State{}
		return w.look(state)
	}
	var err error
	w.state, _, err = w.store.Inspect(w.ctx, w.lane, "")
	return err
}

func (w *World) look(state slot.State) error {
	h := state.Next
	if w.queue.lookUp(h.Request, h.Ticket, state.Incarnation, h.K) {
		return w.startHead(h)
	}
	if !h.Unconfirmed() {
		return w.missing(h)
	}
	if h.Deadline < state.Now {
		w.voids = append(w.voids, func() error {
			return w.give(h.Ticket, func() (slot.Looked, error) { return w.store.VoidHead(w.ctx, w.lane, h) })
		})
	}
	return nil
}

func (w *World) startHead(h slot.Head) error {
	req := slot.StartRequest{
		Request: "driver", Owner: w.owner(), Left: slot.InlineWait, Drive: h.Ticket, DriveRequest: h.Request, Jitter: 1,
	}
	res, err := call(w, func() (slot.Started, error) { return w.store.Start(w.ctx, w.lane, req) }, func(res slot.Started) {
		if res.Verdict == slot.Run {
			w.oracle.Granted(h.Request, res.Grant, res.Now)
		}
	})
	if err == nil && res.Verdict == slot.Run {
		w.runs = append(w.runs, run{FinishRequest: slot.FinishRequest{Grant: res.Grant, Request: h.Request}})
	}
	return err
}

// missing reports that the confirmed head has no task; nothing durable knows of it.
func (w *World) missing(h slot.Head) error {
	res, err := call(w, func() (slot.Looked, error) { return w.store.Missing(w.ctx, w.lane, h) }, func(slot.Looked) {})
	if err != nil || res.Verdict != slot.Check {
		return err
	}
	w.voids = append(w.voids, func() error {
		return w.give(h.Ticket, func() (slot.Looked, error) { return w.store.Settle(w.ctx, w.lane, h, "") })
	})
	return nil
}
