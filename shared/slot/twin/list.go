package twin

import (
	"context"
	"slices"

	"github.com/seriatim/seriatim/shared/slot"
)

// listed is how many ended requests a lane lists: LISTED of lane.lua.
const listed = 100000

// list keeps a request that has ended in the lane's list.
func (c *call) list(e ended) {
	n := min(3, len(c.f))
	kept := slices.DeleteFunc(c.f[:n], func(e ended) bool { return e.at+c.retain <= c.now })
	c.f = slices.Delete(c.f, len(kept), n)
	if i, found := slices.BinarySearchFunc(c.f, e, ended.compare); !found {
		c.f = slices.Insert(c.f, i, e)
	}
	c.f = c.f[max(0, len(c.f)-listed):]
	c.fend = c.now + c.retain
}

// List is slot.Store.List.
func (s *Store) List(ctx context.Context, l slot.Lane, req slot.ListRequest) (slot.Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "list", l)
	if err != nil {
		return slot.Listed{}, err
	}
	defer s.end(c, l.Policy)
	p := &page{call: c, req: req, out: slot.Listed{Seen: c.seen(false)}}
	p.ended()
	p.started()
	p.waiting()
	p.out.Cut(req.Size)
	var known []slot.RequestState
	for _, state := range p.out.Requests {
		if c.records[state.ID] == nil {
			continue
		}
		record := c.export(state.ID)
		record.Response = nil
		if state, ok := state.With(record); ok {
			known = append(known, state)
		}
	}
	p.out.Requests = known
	return p.out, nil
}

// page is one LIST under way.
type page struct {
	*call
	req    slot.ListRequest
	out    slot.Listed
	looked int
	before int64 // requests that wait before the next one
	waits  bool  // before is known
}

func (p *page) wanted(states ...string) bool {
	return p.req.Only == "" || slices.Contains(states, p.req.Only)
}

// look counts one ticket that was looked at; t ends the page where it is the last.
func (p *page) look(t int64) {
	if p.looked++; p.looked == p.req.Size && (p.out.Upto == 0 || t < p.out.Upto) {
		p.out.Upto = t
	}
}

func (p *page) ended() {
	if !p.wanted("done", "dead", "cancelled") {
		return
	}
	for _, e := range p.f {
		if e.ticket <= p.req.After || p.looked == p.req.Size {
			continue
		}
		if p.wanted(e.status) {
			p.out.Requests = append(p.out.Requests, slot.RequestState{Record: slot.Record{ID: e.id, Ticket: e.ticket}})
		}
		p.look(e.ticket)
	}
	p.looked = 0
}

func (p *page) started() {
	if !p.wanted("queued", "running", "unknown") {
		return
	}
	var tickets []int64
	for t := range p.l {
		tickets = append(tickets, t)
	}
	tickets = append(tickets, p.o[:below(p.o, p.s.u)]...)
	slices.Sort(tickets)
	for _, t := range tickets {
		if e := p.open(t); e != nil && t > p.req.After && p.looked < p.req.Size {
			p.tell(t, e)
			p.look(t)
		}
	}
}

func (p *page) waiting() {
	for t := max(p.req.After+1, p.s.u); p.wanted("queued") && t < p.s.nxt && p.looked < p.req.Size; {
		if past := p.gapOf(t); past != 0 {
			for _, x := range p.o[below(p.o, t):below(p.o, past)] {
				if p.looked < p.req.Size {
					p.tell(x, p.open(x))
					p.look(x)
				}
			}
			t = past
			continue
		}
		if e := p.open(t); e != nil {
			p.tell(t, e)
		}
		p.look(t)
		t++
	}
}

func (p *page) tell(t int64, e *entry) {
	out := slot.RequestState{Record: slot.Record{ID: e.r, Ticket: t, Attempts: e.att}, Open: true, Live: p.live(t), Unknown: p.unknown(t, e)}
	state := "running"
	if !out.Live {
		state = "queued"
		if p.before++; !p.waits {
			p.before, p.waits = p.rank(t), true
		}
		out.Position, out.Slot = p.before+1, p.slot(p.before, t)
	}
	if out.Unknown {
		state = "unknown"
	}
	out.Parked = state == "queued" && e.parked == 1
	if p.wanted(state) {
		p.out.Requests = append(p.out.Requests, out)
	}
}
