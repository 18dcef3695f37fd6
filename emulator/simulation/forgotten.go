package simulation

import (
	"maps"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// The windows that a loss of Redis opens: what happens in them is counted and no violation.
const (
	// OrderAmongOld: of two requests that were both accepted before Redis was emptied, the later one starts first.
	OrderAmongOld = "order among those accepted before a full loss"
	// OrderInLag: the order of requests of the milliseconds that a replica lacked.
	OrderInLag = "order among those of the lost milliseconds"
	// HorizonUnkept: a request that was accepted after a full loss starts before one whose task comes later than what was kept.
	HorizonUnkept = "horizon not kept"
	// TaskLate: the same, before one whose task comes later than its schedule.
	TaskLate = "task later than the horizon"
	// SecondAccept: a result that was in Redis alone is lost, and there is another.
	SecondAccept = "second accept"
	// AcceptedAgain is the same where the lane is not durable.
	AcceptedAgain = "second accept, not durable"
	// RunAgain: a request runs again whose end Redis forgot; the record store, which decides, has its result.
	RunAgain = "run again, one result"
	// CancelForgotten: a cancelled request of which only Redis knew comes back.
	CancelForgotten = "cancel forgotten"
	// PauseForgotten: a lane is paused, and that was not kept yet.
	PauseForgotten = "pause not kept"
	// ToldTwice: a client is told another result, of a lane that is not durable.
	ToldTwice = "another result told, not durable"
	// NotYetBack: the state of an accepted request is asked for before its task has brought it back.
	NotYetBack = "state unknown until its task comes"
	// SentAgain: a request that was accepted before a loss takes a place at the tail, since its client sends it again before its
	// task brings it back.
	SentAgain = "sent again before it is back"
	// PlaceGivenUp: the place of a request that came back is given up, since its new task is not there in time.
	PlaceGivenUp = "place given up after coming back"
)

// lossBook is a loss. What happened after since is lost.
type lossBook struct {
	how       Loss
	since, at time.Time
	horizons  map[string]time.Time // as kept outside Redis, by lane
}

// forgets says that Redis no longer knows what happened at t.
func (l lossBook) forgets(t time.Time) bool {
	return t.Before(l.at) && (l.how != RolledBack || t.After(l.since))
}

// lostSince says that Redis has forgotten what happened at t.
func (o *oracle) lostSince(t time.Time) bool {
	for _, l := range o.losses {
		if l.forgets(t) {
			return true
		}
	}
	return false
}

// placeBook is what a replica knows of a lane.
type placeBook map[int64]ticketBook

func (o *oracle) snapshot() map[string]placeBook {
	o.mu.Lock()
	defer o.mu.Unlock()
	books := map[string]placeBook{}
	for key, b := range o.lanes {
		books[key] = placeBook{}
		for ticket, t := range b.open {
			books[key][ticket] = *t
		}
	}
	return books
}

// emptied sees that Redis has lost everything, rolledBack that it has what books say. performing is held.
func (o *oracle) emptied(how Loss) {
	o.lost(lossBook{how: how, since: o.world.start, at: time.Now()}, nil)
}

func (o *oracle) rolledBack(books map[string]placeBook, since time.Time) {
	o.lost(lossBook{how: RolledBack, since: since, at: time.Now()}, books)
}

func (o *oracle) lost(l lossBook, books map[string]placeBook) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.horizons = map[string]time.Time{}
	for key, b := range o.lanes {
		kept, _ := o.world.marks.Read(ctx0, key)
		l.horizons[key] = kept.Horizon
		if b.held && !kept.Paused {
			o.except(PauseForgotten, key, "")
			b.held = false
		}
		b.forget(books[key], l.at.UnixMilli())
	}
	o.losses = append(o.losses, l)
	for _, r := range o.order {
		r.shaken = r.shaken || l.how == RolledBack && r.touched.After(l.since)
	}
}

// forget replaces what Redis knows of the lane's places. Leases that live on are kept in mind.
func (b *laneBook) forget(known placeBook, now int64) {
	for ticket, t := range b.open {
		if t.fence != 0 && t.expiry > now {
			b.shadows[ticket] = max(b.shadows[ticket], t.expiry)
		}
	}
	maps.Copy(b.lost, b.open)
	b.open = map[int64]*ticketBook{}
	for ticket, t := range known {
		b.open[ticket] = &t
		delete(b.lost, ticket)
	}
}

// noticed sees a caller who knows what became of Redis: the places of those who did not are none.
func (o *oracle) noticed(b *laneBook) {
	if o.world.late() {
		return
	}
	for ticket, t := range b.open {
		if t.late {
			b.lost[ticket] = t
			delete(b.open, ticket)
			b.lives[ticket].placed = t.before
		}
	}
}

// excuse names the window in which r may start before a, which was acknowledged before r arrived; "" for none.
func (o *oracle) excuse(lane string, a, r *life) string {
	switch {
	case a.evicted:
		return PlaceGivenUp
	case a.returned || r.returned:
		return CancelForgotten
	case a.resent:
		return SentAgain
	}
	for i := len(o.losses) - 1; i >= 0; i-- {
		switch l := o.losses[i]; {
		case l.how == RolledBack && (a.shaken || r.shaken):
			return OrderInLag
		case l.how == RolledBack || a.placed.After(l.at):
		case r.arrived.Before(l.at):
			return OrderAmongOld
		case a.due.After(l.horizons[lane]) && a.due.Sub(l.at) > o.world.Lease:
			return HorizonUnkept
		case time.Since(a.due) > 0:
			return TaskLate
		}
	}
	return ""
}

// again judges a second end of a life.
func (o *oracle) again(r *requestBook, l *life, outcome slot.Outcome) {
	switch {
	case o.world.Decide && o.recorded(r, l) && !o.lostSince(l.ended): // Redis hears of it
	case !o.lostSince(l.ended):
		o.violate(r.lane, "I5: %s is ended by two grants", label(r.id))
	case l.status != slot.Accept || outcome != slot.Accept:
	case o.world.Decide && o.recorded(r, l):
		o.except(RunAgain, r.lane, "%s", label(r.id))
	case o.world.Decide:
		o.violate(r.lane, "I5: %s has a second result, and the record store decides", label(r.id))
	case o.world.Durable:
		o.except(SecondAccept, r.lane, "%s", label(r.id))
	default:
		o.except(AcceptedAgain, r.lane, "%s", label(r.id))
	}
}
