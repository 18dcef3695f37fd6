package slottest

import (
	"bytes"
	"fmt"

	"github.com/seriatim/seriatim/shared/slot"
)

// Oracle watches what the scripts of one lane answer and says which invariant an answer breaks. It never looks at the lane's
// state, and knows nothing of how scripts decide. It is not safe for concurrent use: answers are to be shown in the order in
// which Redis gave them.
type Oracle struct {
	lane     slot.Lane
	err      error // the first broken invariant
	events   int   // a logical clock
	held     bool  // paused
	fence    int64 // the highest seen
	tat      int64 // GCRA: the theoretical arrival time of the next grant, Redis milliseconds
	tickets  map[int64]*ticket
	requests map[string]*request
}

type ticket struct {
	request, owner string
	fence, expiry  int64
	resolved       bool
	cancelled      bool
	parked         bool
	settledBy      string
}

type request struct {
	arrived, acked, started int // events, 0 where it has not happened
	status                  slot.Status
	fence                   int64 // of the grant that ended it
	response                []byte
	lost                    bool // its task was taken away: nothing is promised
}

// NewOracle returns an Oracle for a lane that does not exist yet.
func NewOracle(lane slot.Lane) *Oracle {
	return &Oracle{lane: lane, tickets: map[int64]*ticket{}, requests: map[string]*request{}}
}

// Err is the first broken invariant, nil while all hold.
func (o *Oracle) Err() error { return o.err }

func (o *Oracle) broken(invariant, format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %s", invariant, fmt.Sprintf(format, args...))
	}
}

// Arrives says that a client sends a request, for the first time or again.
func (o *Oracle) Arrives(id string) {
	o.events++
	if o.requests[id] == nil {
		o.requests[id] = &request{arrived: o.events, status: slot.Open}
	}
}

// Acknowledged says that the client has been told that the request will run, with ticket n. A ticket that was cancelled between
// reserve and this is owed nothing.
func (o *Oracle) Acknowledged(id string, n int64) {
	o.events++
	if r := o.requests[id]; r.acked == 0 && !o.tickets[n].cancelled {
		r.acked = o.events
	}
}

// Loses says that the queue lost the task of the request, so that no promise about it holds any more.
func (o *Oracle) Loses(id string) { o.requests[id].lost = true }

// Reserved shows an answer of Reserve.
func (o *Oracle) Reserved(id string, res slot.Reservation) {
	r := o.requests[id]
	switch res.Verdict {
	case slot.Replayed:
		if r.status != res.Record.Status || !bytes.Equal(r.response, res.Record.Response) {
			o.broken("I5 effect", "%s is replayed as %s %q, it ended %s %q", id, res.Record.Status, res.Record.Response, r.status, r.response)
		}
	case slot.Run, slot.Reserved, slot.Duplicate:
		if r.status == slot.Cancelled && o.tickets[res.Ticket] == nil {
			o.comesAgain(r)
		}
		if r.status != slot.Open {
			o.broken("I5 effect", "%s has ended %s and takes ticket %d", id, r.status, res.Ticket)
		}
		t := o.tickets[res.Ticket]
		if t == nil {
			t = &ticket{request: id}
			o.tickets[res.Ticket] = t
		}
		if t.request != id || t.resolved {
			o.broken("I2 order", "ticket %d of %s is given to %s, resolved %t", res.Ticket, t.request, id, t.resolved)
		}
		if res.Verdict == slot.Run {
			o.Granted(id, res.Grant, res.Now)
		}
	}
}

// Granted shows a grant that a script answered at the Redis instant now. A grant shown before is a resend.
func (o *Oracle) Granted(id string, g slot.Grant, now int64) {
	t, r := o.tickets[g.Ticket], o.requests[id]
	if t == nil || t.request != id {
		o.broken("I2 order", "a grant for ticket %d of %s, which never was reserved", g.Ticket, id)
		return
	}
	if t.fence == g.Fence {
		if t.owner != g.Owner {
			o.broken("I1 exclusion", "fence %d is given to %s and to %s", g.Fence, t.owner, g.Owner)
		}
		return
	}
	o.events++
	if g.Fence <= o.fence {
		o.broken("I1 exclusion", "fence %d after %d", g.Fence, o.fence)
	}
	if t.resolved || r.status != slot.Open {
		o.broken("I5 effect", "ticket %d of %s runs again, resolved %t, status %s", g.Ticket, id, t.resolved, r.status)
	}
	if o.held {
		o.broken("pause", "ticket %d starts on a held lane", g.Ticket)
	}
	if t.parked || o.lane.HoldAmbiguous && t.expiry != 0 && t.expiry <= now {
		o.broken("stand", "ticket %d starts, parked %t, its lease lapsed at %d, and nobody said so", g.Ticket, t.parked, t.expiry)
	}
	o.pace(now)
	o.turn(g.Ticket, now)
	if r.started == 0 {
		r.started = o.events
		o.acknowledgedFirst(id, r)
	}
	o.fence, t.fence, t.expiry, t.owner = g.Fence, g.Fence, g.Expiry, g.Owner
}

func (o *Oracle) pace(now int64) {
	spacing := o.lane.Spacing.Milliseconds()
	if gate := o.tat - int64(o.lane.Burst-1)*spacing; now < gate {
		o.broken("I3 pace", "a grant at %d, before %d", now, gate)
	}
	o.tat = max(o.tat, now) + spacing
}

// turn checks exclusion, and that every lower ticket is resolved or live.
func (o *Oracle) turn(x, now int64) {
	live := 0
	for n, t := range o.tickets {
		lives := !t.resolved && t.expiry > now
		if lives && n == x {
			o.broken("I1 exclusion", "ticket %d is granted while fence %d lives", x, t.fence)
		}
		if lives {
			live++
		}
		if n < x && !t.resolved && !lives {
			o.broken("I2 order", "ticket %d starts before %d", x, n)
		}
	}
	if live >= o.lane.Concurrency {
		o.broken("I1 exclusion", "ticket %d is granted beside %d live leases", x, live)
	}
}

// acknowledgedFirst checks that whoever was acknowledged before this request arrived has started before it.
func (o *Oracle) acknowledgedFirst(id string, r *request) {
	for other, a := range o.requests {
		if a.acked != 0 && a.acked < r.arrived && a.started == 0 && a.status == slot.Open && !a.lost {
			o.broken("I2 order", "%s starts before %s, which was acknowledged before it arrived", id, other)
		}
	}
}
