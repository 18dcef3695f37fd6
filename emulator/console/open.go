package console

import "github.com/seriatim/seriatim/shared/slot"

// request names one. place is what the Journal knows of an unresolved one: its ticket, what happened to it last, and when.
type request struct{ key, id string }

type place struct {
	ticket int64
	kind   Kind
	at     int64
}

// follow keeps j.open in step with an event. j.mu is held.
func (j *Journal) follow(e Event) {
	name := request{e.Key, e.ID}
	p, open := j.open[name]
	open = open && p.ticket == e.Ticket
	switch e.Kind {
	case Done, Dead, Cancelled, Voided:
		if open {
			delete(j.open, name)
		}
	case Purged:
		for name, p := range j.open {
			if name.key == e.Key && p.kind != Granted {
				delete(j.open, name)
			}
		}
	case Reserved:
		if !open { // else the script was sent twice
			j.open[name] = place{e.Ticket, e.Kind, e.At}
		}
	case Granted, Retried, Parked, Redriven, Lost, Unknown:
		j.open[name] = place{e.Ticket, e.Kind, e.At}
	}
}

// tell adds what became of a ticket where that is news: several who look may see the same. Of tickets of before its start the
// Journal knows nothing, and tells no end.
func (j *Journal) tell(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p, open := j.before(e); open && p.kind != e.Kind {
		j.add(e)
	}
}

// tellEnd adds the end that a script found. That of a run here is its runner's to tell, who knows more.
func (j *Journal) tellEnd(e Event, status slot.Status) {
	e.Kind = map[slot.Status]Kind{slot.Done: Done, slot.Dead: Dead, slot.Cancelled: Cancelled}[status]
	j.mu.Lock()
	defer j.mu.Unlock()
	p, open := j.before(e)
	if e.Kind == "" || !open || p.kind == Granted {
		return
	}
	if e.Kind == Dead && p.kind == Reserved {
		e.Reason = "deadline" // nothing else ends what has never started
	}
	j.add(e)
}

// before returns what the Journal knew of e's ticket, open unless it has ended, or something newer is known. j.mu is held.
func (j *Journal) before(e Event) (p place, open bool) {
	p, open = j.open[request{e.Key, e.ID}]
	return p, open && p.ticket == e.Ticket && p.at <= e.At
}
