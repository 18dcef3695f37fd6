package chaos

import (
	"math"
	"slices"
	"time"
)

// first is the first start of a request, as the target saw it.
type first struct {
	*request
	call
}

// ordered checks that a starts before b wherever a was acknowledged before b was first sent.
func (c *checker) ordered() {
	lanes := map[string][]first{}
	for _, r := range c.requests {
		if calls := c.bySerial[r.serial]; len(calls) > 0 && !r.first.IsZero() {
			lanes[r.lane.key] = append(lanes[r.lane.key], first{r, calls[0]})
		}
	}
	for _, list := range lanes {
		// Fences are in the order of grants, also where runs are side by side.
		slices.SortFunc(list, func(a, b first) int { return int(a.call.fence - b.call.fence) })
		earliest := time.Unix(math.MaxInt32, 0) // acknowledgement of what started later than b
		for i := len(list) - 1; i >= 0; i-- {
			b := list[i]
			if earliest.Before(b.first) {
				c.overtaken(b, list[i+1:])
			}
			if !b.acked.IsZero() && b.acked.Before(earliest) {
				earliest = b.acked
			}
		}
	}
}

// overtaken looks at those that started after b although they were acknowledged before b was sent.
func (c *checker) overtaken(b first, later []first) {
	for _, a := range later {
		if a.acked.IsZero() || !a.acked.Before(b.first) {
			continue
		}
		if window := c.window(a, b); window != "" {
			if !c.excused[a.serialOf()] {
				c.excused[a.serialOf()] = true
				c.exceptions[window]++ // once for every request that was overtaken
			}
		} else {
			c.violate("order", "%s, first start %s, after %s, first start %s; its tasks came %s", c.w.tell(a.request), c.tellCall(a.call),
				c.w.tell(b.request), c.tellCall(b.call), c.w.deliveries.tell(c.w.log, a.id()))
			return
		}
	}
}

// window names the window in which b, sent after a was acknowledged, may start before a.
func (c *checker) window(a, b first) string {
	for _, l := range c.losses {
		switch {
		case l.kind == "redis failover":
			// a's ticket was taken, or its place changed, in the lost milliseconds.
			if a.request.first.Before(l.at) && a.acked.After(l.from) && l.at.Before(a.call.start) {
				return lostWrites
			}
		case b.request.first.Before(l.at) && l.at.Before(b.call.start):
			return amongOld
		case a.request.first.Before(l.at) && l.at.Before(b.request.first) && !c.w.deliveries.cameBack(a.id(), l.up, b.granted()):
			return lateTask
		case a.request.first.Before(l.at) && l.at.Before(b.request.first) && a.sentWithin(l.at, b.granted()):
			return repeated
		case l.unnoticedAt(b.request.first):
			return unnoticed
		}
	}
	if a.attempt > 1 && a.lane().concurrency > 1 {
		return unseen
	}
	return ""
}

// granted is when the request may have been granted: its call comes later where the grant's reply was lost, say.
func (f first) granted() time.Time {
	if at, ok := f.firstGrant(); ok && at.Before(f.call.start) {
		return at
	}
	return f.call.start
}

// firstGrant is the first grant of a request as its record tells it, if it does.
func (r *request) firstGrant() (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, r.started)
	return at, err == nil
}

func (f first) lane() lane { return f.request.lane }

// sentWithin says whether the client sent the request between two instants.
func (f first) sentWithin(from, to time.Time) bool {
	return slices.ContainsFunc(f.sent, func(at time.Time) bool { return at.After(from) && at.Before(to) })
}

func (f first) serialOf() int { return f.request.serial }

func (f first) id() string { return f.request.id }

// pace is what was measured of one lane policy with a spacing.
type pace struct {
	Spacing int64 `json:"spacing_ms"`
	Pairs   int   `json:"pairs"`
	// Least is between two grants in Redis time, in ms; AtTarget between two calls of the target, where the way there adds noise.
	Least    int64 `json:"least_ms"`
	AtTarget int64 `json:"least_at_target_ms"`
}

// paced checks the spacing between first grants, as the records tell them.
func (c *checker) paced() map[string]pace {
	paces := map[string]pace{}
	lanes := c.lanes()
	for _, l := range allLanes() {
		if l.spacing == 0 {
			continue
		}
		p, known := paces[l.name]
		if !known {
			p = pace{Spacing: l.spacing.Milliseconds(), Least: math.MaxInt64, AtTarget: math.MaxInt64}
		}
		grants := c.grants(l)
		for i := 1; i < len(grants); i++ {
			gap := grants[i].Sub(grants[i-1])
			if gap < l.spacing && slices.ContainsFunc(c.losses, func(l loss) bool { return l.unnoticedAt(grants[i]) }) {
				c.exceptions[ungranted]++
				continue
			}
			p.Pairs, p.Least = p.Pairs+1, min(p.Least, gap.Milliseconds())
			if gap < l.spacing {
				c.violate("pace", "%s: grants at %s and %s", l.key, grants[i-1].Format(time.StampMilli), grants[i].Format(time.StampMilli))
			}
		}
		calls := lanes[l.key]
		for i := 1; i < len(calls); i++ {
			p.AtTarget = min(p.AtTarget, calls[i].start.Sub(calls[i-1].start).Milliseconds())
		}
		paces[l.name] = p
	}
	return paces
}

// unnoticedAt says whether Redis was flushed so shortly before an instant that nobody may have noticed.
func (l loss) unnoticedAt(at time.Time) bool {
	return l.kind == "redis flushed" && at.After(l.at) && at.Before(l.at.Add(noticed))
}

// grants are the first grants of a lane's requests, in order.
func (c *checker) grants(l lane) (list []time.Time) {
	for _, r := range c.requests {
		if at, ok := r.firstGrant(); ok && r.lane.key == l.key {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}
