package twin

import (
	"math"
	"slices"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// free says that the head h may have a lease.
func (c *call) free(h int64, e *entry) bool { return c.capacity() && c.stands(h, e) == "" }

func (c *call) capacity() bool { return c.running() < c.n || c.without(LiveBelowConcurrency) }

// unknown says that t lost its lease without an end, where the policy wants somebody to say what became of it.
func (c *call) unknown(t int64, e *entry) bool {
	expiry, leased := c.l[t]
	return c.holds && e.fence > 0 && leased && expiry <= c.now
}

// stands says why the head may not start however long it waits.
func (c *call) stands(h int64, e *entry) slot.Standing {
	switch {
	case c.s.paused == 1:
		return slot.StandsPaused
	case e == nil:
		return ""
	case e.parked == 1:
		return slot.StandsParked
	case c.unknown(h, e):
		return slot.StandsUnknown
	case slices.Contains(c.blocked, e.target):
		return slot.StandsTargetPaused
	}
	return ""
}

// standingUntil is when the task of a request on a lane that stands comes again, at most about an hour from now.
func (c *call) standingUntil(k int, jitter float64) int64 {
	jitter = math.Round(jitter*1000) / 1000
	return int64(math.Floor(float64(c.now) + min(600000*math.Pow(2, float64(max(0, min(k, 10)))), 3600000)*jitter))
}

// afresh restarts what the lane learns after it stood.
func (c *call) afresh() { c.s.since, c.s.prev = c.now, 0 }

// finished makes a record terminal, and lists it.
func (c *call) finished(r *record, id string, t int64, status slot.Status) {
	c.list(ended{t, id, string(status), c.now})
	r.status, r.finished, r.end = string(status), c.now, c.now+c.retain
}

// expired ends a request that has waited past its deadline without a start.
func (c *call) expired(t int64, e *entry, id string) bool {
	if e.deadline == 0 || c.now <= e.deadline || e.first > 0 {
		return false
	}
	r := c.record(id)
	c.finished(r, id, t, slot.Dead)
	r.reason, r.detail, r.durable = "deadline", "it waited past its deadline", "0"
	c.note(journal.Entry{Event: journal.Expire, Ticket: t, Request: id})
	c.resolve(t)
	c.extend(c.now + c.retain + 60000)
	c.wake()
	return true
}
