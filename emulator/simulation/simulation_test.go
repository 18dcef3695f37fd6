package simulation_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

var (
	seed     = flag.Uint64("seed", 0, "replay the run of this seed only, shrunk to the least that fails")
	trace    = flag.Bool("trace", false, "with -seed: print the history of the run")
	requests = flag.Int("requests", 50_000, "how many requests to simulate in all")
	shrink   = flag.Duration("shrink", time.Minute, "with -trace: how long to look for a smaller run that fails")
	record   = flag.String("record", "", "write what the run came to into this file, as JSON for emulator/guarantees")
	first    = flag.Uint64("first", 1, "the first seed")
)

// TestSimulation is the proof: see package simulation. It runs seeds until enough requests have been acknowledged.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		replay(t, *seed)
		return
	}
	percent := debug.SetGCPercent(400) // runs are short-lived garbage
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	total := &sums{began: time.Now()}
	var next atomic.Uint64
	next.Store(*first - 1)
	for worker := range 2 {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for total.acknowledged() < *requests {
				s := simulation.Draw(next.Add(1))
				r := simulation.Run(t, s)
				ok, due := total.add(r)
				if due && *record != "" {
					total.write(t, *record) // a long run that is ended early has come to something too
				}
				if !ok {
					t.Errorf("%v\n%s\nreplay: go test ./emulator/simulation -run TestSimulation -seed %d -trace", r.Scenario,
						strings.Join(r.Violations, "\n"), s.Seed)
				}
			}
		})
	}
	t.Cleanup(func() {
		t.Log(total.String())
		if *record != "" {
			total.write(t, *record)
		}
	})
}

func replay(t *testing.T, seed uint64) {
	r := simulation.Run(t, simulation.Draw(seed))
	t.Logf("%v: %d acknowledged, %d runs, %d dispatches, makespan %v, longest idle %v", r.Scenario, r.Requests, r.Runs, r.Dispatches, r.Makespan, r.Idle)
	if len(r.Violations) == 0 {
		if *trace {
			t.Logf("in the windows: %v\n%s", r.Exceptions, simulation.Run(t, r.Scenario.Traced()).Trace())
		}
		return
	}
	t.Errorf("%s", strings.Join(r.Violations, "\n"))
	if *trace {
		small := simulation.Shrink(t, r, *shrink)
		t.Logf("shrunk:\n%s", small.Trace())
	}
}

// recordEvery is after how many requests -record writes what it has.
const recordEvery = 50_000

// sums adds up runs.
type sums struct {
	mu                                    sync.Mutex
	seeds, requests, runs, queued, broken int
	steps, faults, stormy                 int // stormy: requests of runs where 5 to 15 % of the steps went wrong
	dispatches                            int64
	idle                                  time.Duration
	idleSeed                              uint64
	losses, exceptions, kinds             tally
	began                                 time.Time
}

func (s *sums) acknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken > 10 {
		return 1 << 62
	}
	return s.requests
}

// add says whether the run kept all promises, and whether it is time to record the sums.
func (s *sums) add(r simulation.Result) (ok, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	s.requests += r.Requests
	s.runs += r.Runs
	s.queued += r.Queued
	s.steps += r.Steps
	s.faults += r.Faults
	if share := float64(r.Faults) / float64(r.Steps); share >= 0.05 && share <= 0.15 {
		s.stormy += r.Requests
	}
	s.dispatches += r.Dispatches
	s.exceptions, s.kinds = s.exceptions.plus(r.Exceptions), s.kinds.plus(r.Kinds)
	for how, n := range r.Losses {
		s.losses = s.losses.plus(tally{string(how): n})
	}
	if r.Idle > s.idle {
		s.idle, s.idleSeed = r.Idle, r.Scenario.Seed
	}
	if len(r.Violations) > 0 {
		s.broken++
	}
	due = s.requests/recordEvery > (s.requests-r.Requests)/recordEvery
	return len(r.Violations) == 0, due
}

func (s *sums) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d seeds, %d requests acknowledged, %d faults in %d steps, %d requests in runs where 5 to 15 %% of the steps went wrong; "+
		"%.3f runs and %.2f dispatches a request; %d runs of the world broke a promise; longest idle %v (seed %d); losses of Redis: %v; in the windows: %v",
		s.seeds, s.requests, s.faults, s.steps, s.stormy, float64(s.runs)/float64(s.requests), float64(s.dispatches)/float64(max(1, s.queued)), s.broken, s.idle, s.idleSeed, s.losses, s.exceptions)
}
