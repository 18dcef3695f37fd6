package simulation

import (
	"time"

	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// finished sees a FINISH.
func (o *oracle) finished(in *instance, l slot.Lane, req slot.FinishRequest, res slot.Finished, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s finish t%s fence %s %s: %s %s; head t%s due %s here=%t at %s", in.name, short(req.Grant.Ticket),
		short(req.Grant.Fence), req.Outcome, res.Verdict, res.Outcome, short(res.Next.Ticket), ahead(res.Next.Due, res.Now), res.Next.Here, ahead(res.Next.At, res.Now))
	b, r := o.lane(l.Key), o.request(l.Key, req.Request)
	t, lf := b.open[req.Grant.Ticket], o.lifeOf(r, req.Grant.Ticket)
	cancelled := lf.status == slot.Outcome(slot.Cancelled) // over the head of a run whose lease had lapsed
	present := lf == r.life                                // what is dead and runs again leaves no record of its last life
	if res.Verdict == slot.Lost && !cancelled && (present && lf.status != "" && !lf.byStore && lf.fence == req.Grant.Fence && !o.lostSince(lf.ended) || t != nil && t.fence == 0 && t.retried == req.Grant.Fence) {
		o.violate(l.Key, "I7: finish of %s, sent again, is told that its lease is lost", label(r.id))
	}
	if res.Verdict != slot.OK {
		return
	}
	if res.Outcome == slot.Retry || res.Outcome == slot.Parked {
		if t != nil && t.fence == req.Grant.Fence {
			t.fence, t.expiry, t.ready, t.retried, b.event = 0, 0, res.At, req.Grant.Fence, res.Now
			lf.touched = time.Now()
		}
		return
	}
	if lf.status != "" && lf.fence != req.Grant.Fence {
		o.again(r, lf, res.Outcome)
	}
	if t != nil {
		b.event = max(res.Now, res.Next.At)
	}
	delete(b.open, req.Grant.Ticket)
	outcome := res.Outcome
	if stored, found := o.stored(r, lf); found && o.world.Durable && (stored.Ticket == req.Grant.Ticket || stored.Status == record.Done) { // its first end stays
		outcome = slot.Outcome(stored.Status)
	}
	o.end(r, lf, outcome, req.Grant.Fence)
}

// looked sees a VOID, MISSING or SETTLE.
func (o *oracle) looked(in *instance, l slot.Lane, op, id string, ticket int64, res slot.Looked, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s %s t%s: %s", in.name, op, short(ticket), res.Verdict)
	b := o.lane(l.Key)
	t := b.open[ticket]
	r := o.lifeOf(o.request(l.Key, id), ticket)
	if op == "settle" && res.Verdict == slot.AlreadyDone && t != nil { // as the record store has it
		delete(b.open, ticket)
		b.event, r.touched = res.Now, time.Now()
	}
	if res.Verdict != slot.Voided || t == nil {
		return
	}
	switch {
	case op == "void" && !r.acked.IsZero() && r.ticket == ticket && (t.adopted || o.lostSince(r.acked)):
		r.evicted = true
		o.except(PlaceGivenUp, l.Key, "%s", label(id))
	case op == "void" && !r.acked.IsZero() && r.ticket == ticket && r.status == "":
		o.violate(l.Key, "I4: the place of %s is given up after its acknowledgement", label(id))
	}
	if op == "settle" && !r.acked.IsZero() && r.tasks > 0 {
		o.violate(l.Key, "I2: %s is found missing and has a task", label(id))
	}
	delete(b.open, ticket)
	b.event, r.touched = res.Now, time.Now()
}
