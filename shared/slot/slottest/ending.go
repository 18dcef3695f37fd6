package slottest

import "github.com/seriatim/seriatim/shared/slot"

// Renewed shows that Renew lengthened the lease of g.
func (o *Oracle) Renewed(g slot.Grant, expiry, now int64) {
	t := o.tickets[g.Ticket]
	if t.fence != g.Fence || t.resolved || t.expiry <= now {
		o.broken("I1 exclusion", "renew revived fence %d of ticket %d, which is at %d until %d", g.Fence, g.Ticket, t.fence, t.expiry)
	}
	t.expiry = max(t.expiry, expiry)
}

// Finished shows an answer of Finish.
func (o *Oracle) Finished(req slot.FinishRequest, res slot.Finished) {
	t, r := o.tickets[req.Grant.Ticket], o.requests[req.Request]
	switch {
	case res.Verdict == slot.AlreadyDone && r.status == slot.Open:
		o.broken("I5 effect", "finish says that %s is done, nobody has ended it", req.Request)
	case res.Verdict != slot.OK:
	case r.status != slot.Open:
		if r.fence != req.Grant.Fence {
			o.broken("I5 effect", "%s ended under fence %d, and now under %d", req.Request, r.fence, req.Grant.Fence)
		}
	case t.fence != req.Grant.Fence:
		if !stays(res.Outcome) { // one that ended earlier, sent again
			o.broken("I1 exclusion", "fence %d ends ticket %d, which is at %d", req.Grant.Fence, req.Grant.Ticket, t.fence)
		}
	case stays(res.Outcome):
		t.expiry, t.parked = 0, res.Outcome == slot.Parked
		r.response = req.Response // shown while the lane stands, kept by a skip
	default:
		o.ends(t, r, req, slot.Status(res.Outcome))
	}
}

func (o *Oracle) ends(t *ticket, r *request, req slot.FinishRequest, status slot.Status) {
	o.events++
	r.status, r.fence, r.response = status, req.Grant.Fence, req.Response
	t.resolved = true
}

// Voided shows that the place of a ticket was given up.
func (o *Oracle) Voided(n, now int64) {
	t := o.tickets[n]
	if r := o.requests[t.request]; r.acked != 0 && r.status == slot.Open && !r.lost && !o.hasOther(t.request, n) {
		o.broken("I4 no loss", "ticket %d of %s is voided, and it was acknowledged", n, t.request)
	}
	if !t.resolved && t.expiry > now {
		o.broken("I1 exclusion", "ticket %d is voided while its lease lives", n)
	}
	t.resolved = true
}

func (o *Oracle) hasOther(id string, n int64) bool {
	for other, t := range o.tickets {
		if other != n && t.request == id && !t.resolved {
			return true
		}
	}
	return false
}

// AnsweredDone shows that the task of a ticket is over without a run.
func (o *Oracle) AnsweredDone(id string, n int64) {
	if r := o.requests[id]; r.status == slot.Open && !o.tickets[n].cancelled {
		o.broken("I4 no loss", "a task of %s is answered DONE, and nobody has ended it", id)
	}
}

// Tasks checks that every acknowledged request that has not ended has a task.
func (o *Oracle) Tasks(has func(id string) bool) {
	for id, r := range o.requests {
		if r.acked != 0 && r.status == slot.Open && !r.lost && !has(id) {
			o.broken("I4 no loss", "%s was acknowledged, has not ended, and has no task", id)
		}
	}
}

// Waiting counts the acknowledged requests that have not ended.
func (o *Oracle) Waiting() int {
	n := 0
	for _, r := range o.requests {
		if r.acked != 0 && r.status == slot.Open && !r.lost {
			n++
		}
	}
	return n
}
