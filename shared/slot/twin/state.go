package twin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// scalars are the fields of the hash :s, under the names of lane.lua. Instants are Redis milliseconds.
type scalars struct {
	format, gen, inc, nxt, u, mark, tat, fence, last, since, isi, prior, prev, granted, hold, fails int64
	paused, kickseq, kickat, kickset, claim, claimend, miss, missk, missat, end                     int64
	resolved, lost, reach, horizon                                                                  int64
	gaps                                                                                            []span
	kickby, claimby, parked                                                                         string
}

// span is a range of tickets that a repair skipped; to is exclusive.
type span struct{ from, to int64 }

// entry is what :q has of an open ticket.
type entry struct {
	r, owner, target                                                                         string
	k, due, p, here, fence, nb, started, lastfin, first, att, spared, parked, deadline, slip int64
}

// record is the hash :i of one request. set says which fields exist, since some scripts ask.
type record struct {
	status, fp, owner, reason, detail, target, durable, steered string
	ticket, fence, submitted, started, finished, attempts       int64
	end                                                         int64 // 0: none
}

func (r *record) terminal() bool { return r != nil && r.status != "" && r.status != string(slot.Open) }

// lane is all that Redis holds of one lane.
type lane struct {
	scalars
	q       map[int64]*entry
	l       map[int64]int64 // started and unresolved ticket -> lease expiry
	d       []int64         // resolved without a start, above u; sorted
	o       []int64         // adopted and not started; sorted
	v       map[int64]bool
	records map[string]*record
	bodies  map[string]body // responses, by request id
	f       []ended         // in ticket order
	fend    int64
	j       []journal.Entry
	jend    int64
}

// ended is a member of :f.
type ended struct {
	ticket     int64
	id, status string
	at         int64
}

func (e ended) member() string { return fmt.Sprint(e.ticket, " ", e.id, " ", e.status, " ", e.at) }

// compare is the order of a sorted set.
func (e ended) compare(other ended) int {
	return cmp.Or(cmp.Compare(e.ticket, other.ticket), cmp.Compare(e.member(), other.member()))
}

// body is the text :b of one request.
type body struct {
	text string
	end  int64
}

func newLane() *lane {
	return &lane{q: map[int64]*entry{}, l: map[int64]int64{}, v: map[int64]bool{}, records: map[string]*record{}, bodies: map[string]body{}}
}

// below counts the members of a sorted set under t.
func below(set []int64, t int64) int64 {
	i, _ := slices.BinarySearch(set, t)
	return int64(i)
}

func add(set *[]int64, t int64) {
	if i, found := slices.BinarySearch(*set, t); !found {
		*set = slices.Insert(*set, i, t)
	}
}

func remove(set *[]int64, t int64) bool {
	i, found := slices.BinarySearch(*set, t)
	if found {
		*set = slices.Delete(*set, i, i+1)
	}
	return found
}

// forget leaves what has a life of its own.
func (l *lane) forget() {
	l.scalars, l.q, l.l, l.d, l.o, l.v = scalars{}, map[int64]*entry{}, map[int64]int64{}, nil, nil, map[int64]bool{}
}

// expire ends the life of keys whose end has come.
func (l *lane) expire(now int64) {
	if l.format != 0 && l.end <= now {
		l.forget()
	}
	if l.fend <= now {
		l.f = nil
	}
	if l.jend <= now {
		l.j = nil
	}
	for id, r := range l.records {
		if r.end != 0 && r.end <= now {
			delete(l.records, id)
		}
	}
	for id, b := range l.bodies {
		if b.end <= now {
			delete(l.bodies, id)
		}
	}
}
