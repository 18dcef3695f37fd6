package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/problem"
)

// taskCreated and taskGone see the tasks of the queue.
func (o *oracle) taskCreated(id, client string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tasked[client] = true
	if o.refused[client] {
		o.violate("", "I4: %s was told that nothing was accepted, and its request has a task", client)
	}
	if r := o.requests[id]; r != nil {
		r.tasks++
		if !r.hadTask {
			r.hadTask = true
			o.queued++
		}
	}
}

func (o *oracle) taskGone(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.requests[id]
	if r == nil {
		return
	}
	r.tasks--
	if r.tasks == 0 && r.status == "" { // acknowledged or not: a task is answered 200 only when its request has ended, or has another
		o.violate(r.lane, "I4: the last task of %s is gone, and it has not ended", label(id))
	}
}

// refusal marks the problem that says that nothing was accepted.
var refusal = problem.Unavailable.URI()

// answered sees what ingest answers, at the instant it does.
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
	r := o.request(lane, id)
	r.client, r.keyed = client, c.keyed
	if out.status != 202 {
		o.replayed(r, out)
	}
	if !r.acked.IsZero() {
		return
	}
	r.acked = time.Now()
	if _, err := fmt.Sscan(out.header.Get("Seriatim-Ticket"), &r.ticket); err != nil {
		o.violate(lane, "an answer without a ticket")
	}
	if r.status == "" {
		o.pending++
		if o.lane(lane).open[r.ticket] == nil {
			o.violate(lane, "I2: %s is acknowledged, and its place is given up", label(id))
		}
		if r.tasks == 0 {
			o.violate(lane, "I4: %s is acknowledged without a task", label(id))
		}
	}
}

// replayed checks that an outcome is told the same every time.
func (o *oracle) replayed(r *requestBook, out *response) {
	body := number(int64(out.status)) + " " + out.body.String()
	if r.status == "" {
		o.violate(r.lane, "I5: %s is answered with a result and has not ended", label(r.id))
	}
	if r.answered && r.body != body {
		o.violate(r.lane, "I5: %s is answered %q, and was %q", label(r.id), body, r.body)
	}
	r.answered, r.body = true, body
}
