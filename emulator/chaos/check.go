package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The windows in which a promise does not hold, each as the design states it. Their counts are in the report.
const (
	// lostWrites: the request was acknowledged while the replica lagged behind a master that then died. Its place in the lane is
	// lost, so it may start after what was submitted later.
	lostWrites = "order: acknowledged in the lost milliseconds of a failover"
	// amongOld: both requests were submitted before Redis was emptied, and the later one started after that. Order among the old holds
	// for those whose tasks return within the quarantine.
	amongOld = "order: both accepted before Redis was emptied"
	// lateTask: Redis was emptied, and Cloud Tasks had not brought the older one back when the time was over that new ones wait for it.
	// A task comes later than planned where the queue has been slowed down, or its last delivery fell into the outage.
	lateTask = "order: the task of what was accepted before a loss came late"
	// repeated: the client sent the older request again after Redis was emptied, before its task was back: nobody knew it, and it took
	// a new place.
	repeated = "order: sent again after a loss, before its task was back"
	// unnoticed: the later request was submitted after Redis was flushed under living connections, before anybody looked.
	unnoticed = "order: submitted before a flush was noticed"
	// unseen: the first grant has not led to a call, as its process ended in between; with a concurrency above 1 others of the lane
	// may have started meanwhile.
	unseen = "order: the first grant led to no call"
	// stopped: a process stood still for longer than its lease and went on.
	stopped = "overlap: the process had been stopped"
	// unflushed: how the request ended was in Redis and in a flush task, as Firestore was away, when Redis was lost: it ran again.
	unflushed = "replay: ended while Firestore was away, then Redis was lost"
	// ungranted: a start was granted after Redis was flushed under living connections, before anybody looked.
	ungranted = "pace: granted before a flush was noticed"
)

const (
	// noticed is how long it may take until a flush under living connections is noticed.
	noticed = 2 * time.Second
	// underWay is how long it may take from the grant in Redis to the call of the target.
	underWay = time.Second
)

// checker compares what the clients were told with what the target saw.
type checker struct {
	w        *world
	requests []*request
	calls    []call
	bySerial map[int][]call
	events   []event
	losses   []loss

	exceptions map[string]int
	excused    map[int]bool // requests that were overtaken in a window
	violations []string
	counts     map[string]int // violations by kind
	reruns     map[string]int // by cause
}

func newChecker(w *world) *checker {
	c := &checker{
		w: w, requests: w.clients.list(), calls: w.target.all(), events: w.log.list(), losses: w.lossList(), bySerial: map[int][]call{},
		exceptions: map[string]int{}, excused: map[int]bool{}, counts: map[string]int{}, reruns: map[string]int{},
	}
	slices.SortStableFunc(c.calls, func(a, b call) int { return a.start.Compare(b.start) })
	for _, call := range c.calls {
		c.bySerial[call.serial] = append(c.bySerial[call.serial], call)
	}
	return c
}

func (c *checker) violate(kind, format string, args ...any) {
	c.counts[kind]++
	c.violations = append(c.violations, kind+": "+fmt.Sprintf(format, args...))
}

// tell describes a request for a person.
func (w *world) tell(r *request) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return strings.TrimSpace(w.log.at(t))
	}
	return fmt.Sprintf("%s #%d (id %s, sent %s, acknowledged %s, %s)", r.lane.key, r.serial, r.id, at(r.first), at(r.acked), cmp.Or(r.status, "no state"))
}

func (c *checker) tellCall(x call) string {
	return fmt.Sprintf("#%d fence %d attempt %d by %s %s-%s %s", x.serial, x.fence, x.attempt, x.life,
		strings.TrimSpace(c.w.log.at(x.start)), strings.TrimSpace(c.w.log.at(x.end)), x.outcome)
}

// requestsEnd checks that what was acknowledged ended as it should, and that what was refused did not run.
func (c *checker) requestsEnd(s settled) {
	for _, r := range s.stuck {
		c.violate("lost or stuck", "%s", c.w.tell(r))
	}
	for _, r := range c.requests {
		calls := c.bySerial[r.serial]
		effect := slices.ContainsFunc(calls, func(x call) bool { return x.answer != "" })
		final := slices.ContainsFunc(calls, func(x call) bool { return x.outcome == refused })
		switch {
		case r.refused && len(calls) > 0:
			c.violate("refused and run", "%s: %s", c.w.tell(r), c.tellCall(calls[0]))
		case r.status == "done" && !effect:
			c.violate("done without effect", "%s", c.w.tell(r))
		case r.status == "dead" && !final:
			c.violate("dead for nothing", "%s after %d attempts", c.w.tell(r), r.attempts)
		case r.status == "cancelled" && r.canceled.IsZero() && !r.cancel:
			c.violate("cancelled by nobody", "%s", c.w.tell(r))
		}
		for _, p := range r.problems {
			c.violate("identity", "%s: %s", c.w.tell(r), p)
		}
		if !r.canceled.IsZero() {
			for _, x := range calls {
				if x.start.After(r.canceled) {
					c.violate("run after its cancel", "%s, cancelled %s: %s", c.w.tell(r), c.w.log.at(r.canceled), c.tellCall(x))
				}
			}
		}
	}
	for _, d := range s.wrong {
		if c.forgotten(d.request) {
			c.exceptions[unflushed]++
		} else {
			c.violate("replay", "%s: %s", c.w.tell(d.request), d.text)
		}
	}
}

// forgotten says whether Redis was lost while it alone knew how the request had ended first, since Firestore was away.
func (c *checker) forgotten(r *request) bool {
	calls := c.bySerial[r.serial]
	first := slices.IndexFunc(calls, func(x call) bool { return x.outcome == done })
	if first < 0 {
		return false
	}
	ended := calls[first].end
	for _, l := range c.losses {
		if l.kind == "redis failover" || l.at.Before(ended) || !slices.ContainsFunc(calls[first+1:], func(x call) bool { return x.start.After(l.at) }) {
			continue
		}
		if slices.ContainsFunc(c.events, func(e event) bool {
			return strings.HasPrefix(e.kind, "firestore") && e.from.Before(l.at) && e.to.After(ended)
		}) {
			return true
		}
	}
	return false
}

// lanes groups calls by lane, each in order of arrival.
func (c *checker) lanes() map[string][]call {
	lanes := map[string][]call{}
	for _, x := range c.calls {
		lanes[x.lane] = append(lanes[x.lane], x)
	}
	return lanes
}

// overlaps checks that at most concurrency runs of a lane are at the target at once, and on a lane of concurrency 1 that no fence comes
// after a higher one. A run whose process has died or whose caller has left does not count: its connection has ended.
func (c *checker) overlaps() {
	lanes := c.lanes()
	for _, l := range allLanes() {
		var open []call
		var newest call
		for _, x := range lanes[l.key] {
			open = slices.DeleteFunc(open, func(o call) bool { return !o.end.IsZero() && !o.end.After(x.start) })
			if len(open) >= l.concurrency {
				c.excuse("overlap", l, open[0], x)
			}
			open = append(open, x)
			if l.concurrency == 1 && x.fence < newest.fence {
				c.excuse("old fence", l, x, newest)
			}
			if x.fence > newest.fence {
				newest = x
			}
		}
	}
}

// excuse counts an overlap as that of a process which stood still, or as a violation. old has the lower fence, or ran before.
func (c *checker) excuse(kind string, l lane, old, x call) {
	for _, e := range c.events {
		if e.kind == "stop" && (e.what == old.life || e.what == x.life) && e.from.Before(x.start.Add(time.Second)) && e.to.After(old.start.Add(-shortLease*2)) {
			c.exceptions[stopped]++
			return
		}
	}
	c.violate(kind, "%s: %s while %s", l.key, c.tellCall(x), c.tellCall(old))
}

// rerunsExplained checks that what has had its effect, or was cut off, runs again only where a fault explains it.
func (c *checker) rerunsExplained() {
	for _, calls := range c.bySerial {
		for i := 1; i < len(calls); i++ {
			before, x := calls[i-1], calls[i]
			if before.outcome != done && before.outcome != gone {
				continue // worth another attempt
			}
			if cause := c.cause(before, x); cause != "" {
				c.reruns[cause]++
			} else {
				c.violate("run again", "%s after %s", c.tellCall(x), c.tellCall(before))
			}
		}
	}
}

// cause is the fault that explains why x runs although before was done.
func (c *checker) cause(before, x call) string {
	const margin = 3 * time.Second // from the effect until nothing is left to do
	until := before.end.Add(margin)
	for _, e := range c.events { // on a lane of which Firestore decides there is, as long as that is away
		if strings.HasPrefix(before.lane, "decided-") && strings.HasPrefix(e.kind, "firestore") && e.from.Before(until) && e.to.Add(margin).After(until) {
			until = e.to.Add(margin)
		}
	}
	for _, e := range c.events {
		if e.from.After(until) || e.to.Before(before.start.Add(-underWay)) {
			continue
		}
		switch {
		case e.kind == "kill" || e.kind == "terminate" || e.kind == "stop":
			if e.what == before.life {
				return e.kind
			}
		case strings.HasPrefix(e.kind, "redis"):
			return e.kind
		}
	}
	for _, l := range c.losses {
		if l.at.After(before.start.Add(-underWay)) && l.at.Before(x.start) {
			return l.kind + ", later"
		}
	}
	return ""
}
