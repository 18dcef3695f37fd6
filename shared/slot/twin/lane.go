package twin

import (
	"math"
	"slices"
	"strings"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// The constants of lane.lua, in milliseconds.
const (
	life        = 32 * 86400000
	slack       = 3600000
	repairSkip  = 30000
	spread      = 25000
	micros      = 1000 // numbers begin at microseconds, instants are milliseconds
	longest     = 3600000
	grace       = 1000
	away        = 50
	claimFor    = 2000
	formatKnown = 1
)

func (c *call) extend(to int64) { c.s.end = max(c.s.end, to) }

func (c *call) extendForTask() {
	switch {
	case c.without(LaneOutlivesTasks):
		c.s.end = c.now + 60000
	case c.now+life > c.s.end+slack:
		c.s.end = c.now + life
	}
}

// repair takes over a lane of an older generation.
func (c *call) repair(op string) {
	from := c.s.nxt
	if !c.without(RepairSkips) {
		c.s.nxt = max(c.s.nxt, c.gen.Number) + repairSkip
		c.s.fence = max(c.s.fence, c.gen.Number) + repairSkip
		c.s.gaps = append(slices.Clone(c.s.gaps), span{from, c.s.nxt})
	}
	c.s.granted, c.s.tat, c.s.gen, c.s.prev, c.s.lost = c.now, c.now+c.burst*c.spacing, c.gen.Number, 0, c.now
	c.extendForTask()
	c.note(journal.Entry{
		Event: journal.Repair, Ticket: c.s.nxt, Fence: c.s.fence, NotBefore: journal.Instant(c.gen.QuarantineUntil),
		SpacingMS: c.spacing, Burst: c.burst, Generation: c.gen.Number,
	})
	c.advance()
	if !c.restoring() || slices.Contains(reads, op) || c.marks == nil {
		return
	}
	c.hold(c.marks.Paused)
	c.s.horizon, c.s.parked = max(c.s.horizon, c.marks.Reach), tickets(c.marks.Parked)
	if c.marks.Purged > c.s.mark {
		c.note(journal.Entry{Event: journal.Purge, Ticket: c.marks.Purged})
		c.purgeTo(c.marks.Purged)
	}
	for _, t := range c.marks.Parked {
		if e := c.open(t); e != nil && !c.live(t) {
			if e.parked == 0 {
				c.note(journal.Entry{Event: journal.Park, Ticket: t, Request: e.r})
			}
			e.parked = 1
		}
	}
}

// tickets are a list as Redis keeps it.
func tickets(list []int64) string {
	var out strings.Builder
	for _, t := range list {
		out.WriteString(number(t) + ",")
	}
	return out.String()
}

// purgeTo cancels all that waits below a ticket.
func (c *call) purgeTo(mark int64) {
	for t, expiry := range c.l {
		if expiry <= c.now && t < mark {
			delete(c.q, t)
			delete(c.l, t)
		}
	}
	c.o, c.d = c.o[below(c.o, mark):], c.d[below(c.d, mark):]
	c.s.mark = max(c.s.mark, mark)
	if c.s.u < mark {
		c.s.u = mark
		c.advance()
	}
	c.afresh()
}

// gapOf returns where the gap that holds t ends, 0 for none.
func (c *call) gapOf(t int64) int64 {
	for _, g := range c.s.gaps {
		if t >= g.from && t < g.to {
			return g.to
		}
	}
	return 0
}

func (c *call) skipped(from, to int64) (count int64) {
	for _, g := range c.s.gaps {
		count += max(0, min(g.to, to)-max(g.from, from))
	}
	return count
}

func (c *call) advance() {
	for c.s.u < c.s.nxt {
		switch past := c.gapOf(c.s.u); {
		case past != 0:
			c.s.u = past
		case remove(&c.d, c.s.u):
			c.s.u++
		default:
			return
		}
	}
}

func (c *call) live(t int64) bool { return c.l[t] > c.now }

func (c *call) open(t int64) *entry {
	e := c.q[t]
	if _, leased := c.l[t]; e != nil && (t >= c.s.u || leased || c.adopted(t)) {
		return e
	}
	return nil
}

func (c *call) adopted(t int64) bool {
	_, found := slices.BinarySearch(c.o, t)
	return found
}

func (c *call) running() (n int64) {
	for _, expiry := range c.l {
		if expiry > c.now {
			n++
		}
	}
	return n
}

// firstExpiry is the earliest end of a live lease and its ticket, the lower one of two; 0 for none.
func (c *call) firstExpiry() (expiry, ticket int64) {
	for t, e := range c.l {
		if e > c.now && (expiry == 0 || e < expiry || e == expiry && lexical(t, ticket)) {
			expiry, ticket = e, t
		}
	}
	return expiry, ticket
}

// lexical is the order of equal scores in a sorted set; tickets of one lane have equally many digits.
func lexical(a, b int64) bool { return a < b }

// head returns the lowest ticket that waits, and its entry; 0 for none.
func (c *call) head() (h int64, e *entry) {
	if len(c.o) > 0 {
		h = c.o[0]
	}
	if !c.without(LapsedWaits) {
		for t, expiry := range c.l {
			if expiry <= c.now && (h == 0 || t < h) {
				h = t
			}
		}
	}
	if c.s.u < c.s.nxt && (h == 0 || c.s.u < h) {
		h = c.s.u
	}
	return h, c.q[h]
}

func (c *call) rank(t int64) (before int64) {
	for x, expiry := range c.l {
		if expiry <= c.now && x < t {
			before++
		}
	}
	before += below(c.o, t)
	if t > c.s.u {
		before += t - c.s.u - below(c.d, t) - c.skipped(c.s.u, t)
	}
	return before
}

func (c *call) depth() int64 {
	return int64(len(c.l)+len(c.o)) + c.s.nxt - c.s.u - int64(len(c.d)) - c.skipped(c.s.u, c.s.nxt)
}

// begin starts a life of the lane.
func (c *call) begin() {
	if !c.absent {
		return
	}
	base := c.now * micros
	if c.gen.Number > base {
		base = c.gen.Number + base%spread
	}
	c.s.format, c.s.gen, c.s.inc = formatKnown, c.gen.Number, base
	c.s.nxt, c.s.u, c.s.fence = base, base, base
	if c.restoring() {
		noticed := c.gen.RestoreUntil - life
		if paced := noticed + c.burst*c.spacing; paced > c.now && !c.without(PaceOfTheLost) {
			c.s.granted, c.s.tat = noticed, paced
		}
		c.s.lost = c.now
		if m := c.marks; m != nil {
			if m.Paused {
				c.s.paused = 1
			}
			c.s.mark, c.s.reach, c.s.horizon, c.s.parked = m.Purged, m.Reach, m.Reach, tickets(m.Parked)
		}
	}
	c.note(journal.Entry{
		Event: journal.Begin, Ticket: base, Fence: base, NotBefore: journal.Instant(c.gen.QuarantineUntil),
		Reach: journal.Instant(c.s.reach), Generation: c.gen.Number,
	})
	if c.s.paused == 1 {
		c.note(journal.Entry{Event: journal.Pause})
	}
}

func (c *call) nextHead() slot.Head {
	h, e := c.head()
	if h == 0 || e == nil {
		return slot.Head{}
	}
	next := slot.Head{Ticket: h, Request: e.r, K: int(e.k), Due: e.due, Here: e.here > c.now, Deadline: e.p, Seen: c.now}
	if c.free(h, e) {
		next.At = max(c.now, c.runAt(h, e))
	}
	return next
}

// wake names the ticket that may start next, where its executor waits.
func (c *call) wake() {
	if h, e := c.head(); h != 0 && e != nil && e.here > c.now && c.free(h, e) {
		c.tickets = append(c.tickets, h)
		c.publish = append(c.publish, slot.Wakeup{At: max(c.now, c.runAt(h, e))})
	}
}

// grant gives x its lease.
func (c *call) grant(x int64, e *entry, owner string, r *record) {
	beside := c.running()
	possible := max(c.gate(), c.s.since)
	if c.s.prev > 0 && e.att == 0 && possible > c.s.prev {
		sample := float64(min(c.now, possible+away)-c.s.prev) * 1000
		if c.s.isi != 0 {
			sample = float64(c.s.isi)*0.8 + sample*0.2
		}
		c.s.isi = max(1, int64(math.Floor(sample)))
		if c.s.prior == 0 {
			c.s.prior = int64(c.guess * 1000)
		}
		c.s.prior = max(1, int64(math.Floor(float64(c.s.prior)*0.8)))
	}
	e.slip = c.now - min(c.now, c.runAt(x, e))
	if e.att == 0 || !c.without(PaceOfTakeovers) {
		c.pace()
		c.extend(c.s.tat + 60000)
		c.s.granted = c.now
	}
	c.s.prev = c.now
	if !c.without(FenceGrows) || e.fence == 0 {
		c.s.fence++
	}
	e.owner, e.fence, e.started, e.here, e.nb = owner, c.s.fence, c.now, 0, 0
	e.att++
	if e.first == 0 {
		e.first = c.now
	}
	c.q[x] = e
	c.l[x] = c.now + c.lease
	r.fence, r.started, r.attempts = e.fence, e.first, e.att
	if x == c.s.u {
		c.s.u++
		c.advance()
	} else {
		remove(&c.o, x)
	}
	c.note(journal.Entry{
		Event: journal.Grant, Ticket: x, Request: e.r, Fence: e.fence, Attempt: e.att, K: e.k, LeaseUntil: journal.Instant(c.now + c.lease),
		Live: beside, Concurrency: c.n, SpacingMS: c.spacing, Burst: c.burst,
	})
}

func (c *call) resolve(t int64) {
	delete(c.q, t)
	_, leased := c.l[t]
	switch {
	case leased:
		delete(c.l, t)
	case remove(&c.o, t):
	case t == c.s.u:
		c.s.u++
	case t > c.s.u:
		add(&c.d, t)
	}
	c.advance()
	c.s.resolved++
	c.s.since = c.now
	if h, _ := c.head(); h == 0 && len(c.l) == 0 {
		c.s.prev = 0
	}
}

func (c *call) voidTicket(t int64, e *entry, fence int64) {
	c.note(journal.Entry{Event: journal.Void, Ticket: t, Request: e.r, Fence: fence})
	c.resolve(t)
	c.s.prev = 0
	c.v[t] = true
	c.wake()
}

// record returns the record of a request, made where there is none: HSET.
func (c *call) record(id string) *record {
	r := c.records[id]
	if r == nil {
		r = &record{}
		c.records[id] = r
	}
	return r
}
