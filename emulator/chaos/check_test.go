package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is a run as it could have been: instants are milliseconds since its begin.
type told struct {
	requests []*request
	calls    []call
	events   []event
	losses   []loss
	back     []string // requests whose task came at 8 ms
	differ   []*request
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

// submitted is a request of a lane that was sent and acknowledged at such instants.
func submitted(serial int, key string, sent, acked int) *request {
	l := allLanes()[slices.IndexFunc(allLanes(), func(l lane) bool { return l.key == key })]
	return &request{serial: serial, id: fmt.Sprintf("id-%d", serial), lane: l, first: at(sent), acked: at(acked), status: "done"}
}

func ran(serial int, key string, fence int64, start, end int) call {
	return call{lane: key, serial: serial, fence: fence, attempt: 1, life: "executor-1.1", start: at(start), end: at(end), outcome: done, answer: "x"}
}

// check returns how often which promise was broken, and what fell into windows.
func (s told) check(t *testing.T) (broken, excepted map[string]int) {
	t.Helper()
	w := &world{log: &journal{began: begin}, target: newTarget(newDice(1, 1)), losses: s.losses}
	w.clients = newClients("", newDice(1, 2), w.target)
	w.clients.requests = s.requests
	for _, x := range s.calls {
		w.target.calls = append(w.target.calls, &x)
	}
	for _, e := range s.events {
		w.log.events = append(w.log.events, &e)
	}
	for _, id := range s.back {
		w.deliveries.byID = map[string][]*delivery{id: {{start: at(8), end: at(9), status: http.StatusOK}}}
	}
	c := newChecker(w)
	var found settled
	for _, r := range s.differ {
		found.wrong = append(found.wrong, differing{r, "another answer"})
	}
	c.requestsEnd(found)
	c.overlaps()
	c.ordered()
	c.rerunsExplained()
	c.paced()
	return c.counts, c.exceptions
}

// TestEveryBrokenPromiseIsSeen has the checker look at runs in which one promise is broken.
func TestEveryBrokenPromiseIsSeen(t *testing.T) {
	t.Parallel()
	with := func(r *request, change func(*request)) *request {
		change(r)
		return r
	}
	late := ran(1, "one-0", 1, 50, 60)
	lateAttempt := ran(1, "three-0", 9, 50, 60)
	lateAttempt.attempt = 2
	cut := ran(1, "one-0", 1, 10, 20)
	cut.outcome, cut.answer = gone, ""
	one := submitted(1, "one-0", 0, 1)
	kill := event{kind: "kill", what: "executor-1.1", from: at(15), to: at(16)}
	for name, tt := range map[string]struct {
		told
		broken, excepted map[string]int
	}{
		"one after the other": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 2, 3)},
			calls:    []call{ran(1, "one-0", 1, 10, 20), ran(2, "one-0", 2, 21, 30)},
		}},
		"at once": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 2, 3)},
			calls:    []call{ran(1, "one-0", 1, 10, 20), ran(2, "one-0", 2, 19, 30)},
		}, broken: map[string]int{"overlap": 1}},
		"at once, as one stood still": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 2, 3)},
			calls:    []call{ran(1, "one-0", 1, 10, 20), ran(2, "one-0", 2, 19, 30)},
			events:   []event{{kind: "stop", what: "executor-1.1", from: at(11), to: at(18)}},
		}, excepted: map[string]int{stopped: 1}},
		"three at once where three may": {told: told{
			requests: []*request{submitted(1, "three-0", 0, 9), submitted(2, "three-0", 0, 9), submitted(3, "three-0", 0, 9)},
			calls:    []call{ran(1, "three-0", 1, 10, 20), ran(2, "three-0", 2, 11, 20), ran(3, "three-0", 3, 12, 20)},
		}},
		"an old fence": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 9), submitted(2, "one-0", 0, 9)},
			calls:    []call{ran(2, "one-0", 2, 10, 20), ran(1, "one-0", 1, 21, 30)},
		}, broken: map[string]int{"old fence": 1}},
		"out of order": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 2, 3)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
		}, broken: map[string]int{"order": 1}},
		"either order where both were under way": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 3), submitted(2, "one-0", 2, 5)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
		}},
		"out of order, as its place was lost in a failover": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 6, 7)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses:   []loss{{kind: "redis failover", from: at(0), at: at(5), up: at(6)}},
		}, excepted: map[string]int{lostWrites: 1}},
		"out of order long before a failover": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 6, 7)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses:   []loss{{kind: "redis failover", from: at(31), at: at(35), up: at(36)}},
		}, broken: map[string]int{"order": 1}},
		"out of order among the old": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 2, 3)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses:   []loss{{kind: "redis emptied", from: at(5), at: at(5), up: at(6)}},
		}, excepted: map[string]int{amongOld: 1}},
		"the new before the old": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 6, 7)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses:   []loss{{kind: "redis emptied", from: at(5), at: at(5), up: at(6)}},
			back:     []string{"id-1"},
		}, broken: map[string]int{"order": 1}},
		"the new before the old, whose task came late": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1), submitted(2, "one-0", 6, 7)},
			calls:    []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses:   []loss{{kind: "redis emptied", from: at(5), at: at(5), up: at(6)}},
		}, excepted: map[string]int{lateTask: 1}},
		"the new before the old, granted before the task came": {told: told{
			requests: []*request{
				submitted(1, "one-0", 0, 1), with(submitted(2, "one-0", 6, 7), func(r *request) { r.started = "2026-01-01T00:00:00.007Z" }),
			},
			calls:  []call{ran(2, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			losses: []loss{{kind: "redis emptied", from: at(5), at: at(5), up: at(6)}},
			back:   []string{"id-1"},
		}, excepted: map[string]int{lateTask: 1}},
		"out of order, as the first grant led to no call": {told: told{
			requests: []*request{submitted(1, "three-0", 0, 1), submitted(2, "three-0", 2, 3)},
			calls:    []call{ran(2, "three-0", 5, 10, 20), lateAttempt},
		}, excepted: map[string]int{unseen: 1}},
		"twice for nothing": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1)}, calls: []call{ran(1, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
		}, broken: map[string]int{"run again": 1}},
		"twice, as the process was killed": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1)}, calls: []call{cut, ran(1, "one-0", 2, 21, 30)}, events: []event{kill},
		}},
		"twice, as the process stood still after Firestore, which decides, had been away": {told: told{
			requests: []*request{submitted(1, "decided-0", 0, 1)},
			calls:    []call{ran(1, "decided-0", 1, 10, 20), ran(1, "decided-0", 2, 12000, 12030)},
			events: []event{
				{kind: "firestore cut off", from: at(15), to: at(6000)}, {kind: "stop", what: "executor-1.1", from: at(6050), to: at(13000)},
			},
		}},
		"twice, as the process stood still long after, where Redis decides": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1)},
			calls:    []call{ran(1, "one-0", 1, 10, 20), ran(1, "one-0", 2, 12000, 12030)},
			events: []event{
				{kind: "firestore cut off", from: at(15), to: at(6000)}, {kind: "stop", what: "executor-1.1", from: at(6050), to: at(13000)},
			},
		}, broken: map[string]int{"run again": 1}},
		"refused and run": {told: told{
			requests: []*request{with(submitted(1, "one-0", 0, 1), func(r *request) { r.refused = true })}, calls: []call{late},
		}, broken: map[string]int{"refused and run": 1}},
		"done without effect": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1)},
		}, broken: map[string]int{"done without effect": 1}},
		"dead for nothing": {told: told{
			requests: []*request{with(submitted(1, "one-0", 0, 1), func(r *request) { r.status = "dead" })}, calls: []call{late},
		}, broken: map[string]int{"dead for nothing": 1}},
		"run after its cancel": {told: told{
			requests: []*request{with(submitted(1, "one-0", 0, 1), func(r *request) { r.status, r.cancel, r.canceled = "cancelled", true, at(2) })}, calls: []call{late},
		}, broken: map[string]int{"run after its cancel": 1}},
		"too soon": {told: told{
			requests: []*request{
				with(submitted(1, "quick-0", 0, 1), func(r *request) { r.started = "2026-01-01T00:00:00.010Z" }),
				with(submitted(2, "quick-0", 0, 1), func(r *request) { r.started = "2026-01-01T00:00:00.059Z" }),
			},
			calls: []call{ran(1, "quick-0", 1, 10, 20), ran(2, "quick-0", 2, 70, 80)},
		}, broken: map[string]int{"pace": 1}},
		"too soon, before a flush was noticed": {told: told{
			requests: []*request{
				with(submitted(1, "quick-0", 0, 1), func(r *request) { r.started = "2026-01-01T00:00:00.010Z" }),
				with(submitted(2, "quick-0", 0, 1), func(r *request) { r.started = "2026-01-01T00:00:00.059Z" }),
			},
			calls:  []call{ran(1, "quick-0", 1, 10, 20), ran(2, "quick-0", 2, 70, 80)},
			losses: []loss{{kind: "redis flushed", from: at(30), at: at(30), up: at(30)}},
		}, excepted: map[string]int{ungranted: 1}},
		"twice, as Redis was flushed between the grant and the call": {told: told{
			requests: []*request{submitted(1, "one-0", 0, 1)}, calls: []call{ran(1, "one-0", 1, 10, 20), ran(1, "one-0", 2, 21, 30)},
			events: []event{{kind: "redis flushed", from: at(8), to: at(9)}},
		}},
		"another answer": {told: told{
			requests: []*request{one}, calls: []call{ran(1, "one-0", 1, 10, 20), ran(1, "one-0", 2, 51, 60)}, differ: []*request{one},
			losses: []loss{{kind: "redis emptied", from: at(40), at: at(40), up: at(50)}},
		}, broken: map[string]int{"replay": 1}},
		"another answer, as the first one had not reached Firestore when Redis was emptied": {told: told{
			requests: []*request{one}, calls: []call{ran(1, "one-0", 1, 10, 20), ran(1, "one-0", 2, 51, 60)}, differ: []*request{one},
			losses: []loss{{kind: "redis emptied", from: at(40), at: at(40), up: at(50)}},
			events: []event{{kind: "firestore frozen", from: at(15), to: at(35)}},
		}, excepted: map[string]int{unflushed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, excepted := tt.check(t)
			empty := map[string]int{}
			for what, maps := range map[string][2]map[string]int{"broken": {tt.broken, broken}, "excepted": {tt.excepted, excepted}} {
				want := maps[0]
				if want == nil {
					want = empty
				}
				if diff := cmp.Diff(want, maps[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}
