package compare

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// costs are the calls that all requests of a run took together.
type costs struct {
	// Dispatches are the attempts of Cloud Tasks. Operations are what it bills: calls of its API and attempts. Redis counts
	// commands as clients send them, a script being one.
	Dispatches, Operations, Redis int
}

// log is what was seen of a run, in time since its start. It may be written concurrently.
type log struct {
	mu       sync.Mutex
	answered []time.Duration // by request; 0: never
	runs     []run
	open     map[int]int // request -> its run under way
}

// run is one run of the target.
type run struct {
	request    int
	start, end time.Duration
}

func newLog(requests int) *log {
	return &log{answered: make([]time.Duration, requests), open: map[int]int{}}
}

func (l *log) answer(request int, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered[request] = at
}

func (l *log) start(request int, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[request] = len(l.runs)
	l.runs = append(l.runs, run{request: request, start: at})
}

func (l *log) end(request int, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[l.open[request]].end = at
}

// whole says that each request has run once.
func (l *log) whole() error {
	ran := make([]int, len(l.answered))
	for _, r := range l.runs {
		ran[r.request]++
	}
	for request, times := range ran {
		if times != 1 {
			return fmt.Errorf("request %d ran %d times, want once", request, times)
		}
	}
	return nil
}

// lanes are the runs of each key, by start.
func (l *log) lanes(load *workload) map[string][]run {
	lanes := map[string][]run{}
	for _, r := range l.runs {
		lane := load.submissions[r.request].Lane
		lanes[lane] = append(lanes[lane], r)
	}
	for _, runs := range lanes {
		slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.start, b.start) })
	}
	return lanes
}

// ideal is the log of a lane protocol that costs no time: every request starts once its turn, its pace and the request before it
// allow.
func ideal(load *workload) *log {
	l := newLog(len(load.submissions))
	last := map[string]run{}
	for i, s := range load.submissions {
		start := s.At
		if before, any := last[s.Lane]; any {
			start = max(start, before.end, before.start+load.Spacing)
		}
		last[s.Lane] = run{i, start, start + s.Takes}
		l.runs = append(l.runs, last[s.Lane])
	}
	return l
}
