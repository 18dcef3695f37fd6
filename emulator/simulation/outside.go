package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// taskCreated and taskGone see the tasks of the queue. Each brings its request back, whichever ticket it has.
func (o *oracle) taskCreated(t *task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.requests[t.request]
	if t.kind == string(taskqueue.KindFlush) {
		if r != nil {
			r.flushes++
			t.life = o.lifeOf(r, t.ticket)
		}
		return
	}
	o.tasked[t.client] = true
	if o.refused[t.client] {
		o.violate("", "I4: %s was told that nothing was accepted, and its request has a task", t.client)
	}
	if r == nil {
		return
	}
	t.life = o.lifeOf(r, t.ticket)
	t.life.due = t.due
	t.life.tasks++
	r.all++
	if !t.life.hadTask {
		t.life.hadTask = true
		o.queued++
	}
}

func (o *oracle) taskGone(t task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, l := o.requests[t.request], t.life
	if r == nil || l == nil {
		return
	}
	if t.kind == string(taskqueue.KindFlush) {
		r.flushes--
		o.kept(r, l, "the flush task is gone")
		return
	}
	l.tasks--
	r.all--
	if l.tasks == 0 {
		o.kept(r, l, "the last task is gone")
	}
	if r.all > 0 {
		return
	}
	if stored, found := o.stored(r, r.life); found && r.status == "" && len(o.losses) > 0 {
		// Redis had forgotten how it ended, and a flush task brought that to the store after the request had come back.
		o.endAsStored(r, r.life, stored)
	}
	if o.decided(r, r.life); r.status == "" && r.hadTask { // acknowledged or not: a task is answered 200 only when its request has ended, or has another
		o.violate(r.lane, "I4: the last task of %s is gone, and it has not ended", label(t.request))
	}
}

// refusal marks the problem that says that nothing was accepted.
var refusal = problem.Unavailable.URI()

// answered sees what ingest answers to a submission, at the instant it does.
func (o *oracle) answered(in *instance, c *client, out *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lane, client := c.lane, c.name
	id := out.header.Get("Seriatim-Request-Id")
	o.world.note(lane, "%s answers %s: %d %s t%s", in.name, client, out.status, out.header.Get("Seriatim-Status"), out.header.Get("Seriatim-Ticket"))
	if o.first.IsZero() {
		o.first = time.Now()
	}
	if !c.keyed && strings.Contains(out.body.String(), refusal) {
		if o.refused[client] = true; o.tasked[client] {
			o.violate(lane, "I4: %s is told that nothing was accepted, and its request has a task", client)
		}
	}
	if id == "" || out.status >= 500 {
		return
	}
	c.learn(id)
	r := o.request(lane, id)
	r.client = client
	o.accepted(r, out)
}

// accepted sees an answer that says of a request that it will run, or how it ended. o.mu is held.
func (o *oracle) accepted(r *requestBook, out *response) {
	l, ticket := o.told(r, out)
	if l == nil {
		return
	}
	if out.status != http.StatusAccepted {
		o.replayed(r, l, out)
	}
	if !l.acked.IsZero() {
		return
	}
	o.decided(r, l)
	if l.acked, l.ticket = time.Now(), ticket; l.status == "" {
		o.pending++
		if b := o.lane(r.lane); b.open[ticket] == nil && b.lost[ticket] == nil {
			o.violate(r.lane, "I2: %s is acknowledged, and its place is given up", label(r.id))
		}
		if r.all == 0 {
			o.violate(r.lane, "I4: %s is acknowledged without a task", label(r.id))
		}
	}
}

// told returns the life that an answer is about.
func (o *oracle) told(r *requestBook, out *response) (l *life, ticket int64) {
	if _, err := fmt.Sscan(out.header.Get("Seriatim-Ticket"), &ticket); err != nil {
		o.violate(r.lane, "an answer about %s without a ticket", label(r.id))
		return nil, 0
	}
	return o.lifeOf(r, ticket), ticket
}

// replayed checks that an outcome is told the same every time, and only once it cannot be lost.
func (o *oracle) replayed(r *requestBook, l *life, out *response) {
	body := number(int64(out.status)) + " " + out.body.String()
	if o.decided(r, l); l.status == "" {
		o.violate(r.lane, "I5: %s is answered with a result and has not ended", label(r.id))
	}
	switch {
	case l.answered && l.body != body && !o.world.Durable && o.lostSince(l.told):
		o.except(ToldTwice, r.lane, "%s", label(r.id))
	case l.answered && l.body != body:
		o.violate(r.lane, "I5: %s is answered %q, and was %q", label(r.id), body, l.body)
	}
	l.answered, l.body, l.told = true, body, l.ended
	o.kept(r, l, "a client is told")
}

// shown sees the state of a request, or its result, as a call that began at asked was told.
func (o *oracle) shown(in *instance, lane, id string, asked time.Time, out *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	status := out.header.Get("Seriatim-Status")
	r := o.request(lane, id)
	o.world.note(lane, "%s shows %s: %d %s", in.name, label(id), out.status, status)
	switch {
	case out.status >= http.StatusInternalServerError && status == "error", out.status == 0:
		return
	case out.status == http.StatusNotFound:
		switch {
		case r.acked.IsZero() || !r.acked.Before(asked):
		case o.lostSince(r.acked), o.lostSince(r.placed), len(o.losses) > 0 && r.placed.After(asked): // it came back after the call had looked
			o.except(NotYetBack, lane, "%s", label(id))
		default:
			o.violate(lane, "state: %s was accepted, and is not known", label(id))
		}
		return
	}
	l, _ := o.told(r, out)
	if l == nil {
		return
	}
	o.decided(r, l)
	switch slot.Status(status) {
	case slot.Done, slot.Dead, slot.Cancelled:
		if l.status != slot.Outcome(status) {
			o.violate(lane, "state: %s is told to be %s, and is %q", label(id), status, l.status)
		}
		o.kept(r, l, "its state is told")
	default:
		unwritten := o.world.Durable && l.status == slot.GiveUp // a dead letter is told of once it has its payload
		if l.status != "" && !unwritten && l.ended.Before(asked) && !o.lostSince(l.ended) && !o.world.Decide {
			o.violate(lane, "state: %s is told to be %s, and had ended (%s)", label(id), status, l.status)
		}
	}
	if strings.HasPrefix(out.header.Get("Idempotent-Replayed"), "true") && o.recorded(r, l) {
		o.replayed(r, l, out)
	}
}

// listed sees a list of requests. o.mu is held.
func (o *oracle) listed(lane string, out *response) {
	var page struct {
		Requests []struct{ ID, Status string }
	}
	if out.status != http.StatusOK || json.Unmarshal(out.body.Bytes(), &page) != nil {
		return
	}
	for _, shown := range page.Requests {
		if o.requests[shown.ID] == nil {
			o.violate(lane, "list: %s has never been here", label(shown.ID))
		}
	}
}
