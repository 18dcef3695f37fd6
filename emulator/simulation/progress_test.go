package simulation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// once is a lane of the proof's table: all requests at once, through the queue.
func once(requests int, change func(*simulation.Scenario)) simulation.Scenario {
	s := simulation.Scenario{
		Seed: 1, Concurrency: 1, Burst: 1, Lease: 30 * time.Second, Requests: requests, Lanes: 1, Async: true, Keyed: 1, Executors: 3,
		Gap: simulation.Span{Low: 0, High: time.Millisecond},
	}
	change(&s)
	return s
}

// TestALaneNeverIdles looks at lanes that are faster than their tasks were planned for. They may stand until the next task comes,
// where nobody is there to notice; from then on never for longer than a look-up of a task takes.
func TestALaneNeverIdles(t *testing.T) {
	t.Parallel()
	const handOver = 500 * time.Millisecond
	for name, test := range map[string]struct {
		scenario simulation.Scenario
		// long is how many times it may stand for longer than a hand-over, and for how long at most.
		long int
		most time.Duration
	}{
		"1,000 waiting at 60 s, then the policy is lowered to 10 ms": {
			once(1000, func(s *simulation.Scenario) {
				s.Spacing, s.Handler = time.Minute, simulation.Span{Low: time.Millisecond, High: 5 * time.Millisecond}
				s.ChangeAt, s.Change = 5*time.Minute+20*time.Second, func(s *simulation.Scenario) { s.Spacing = 10 * time.Millisecond }
			}), 4, 62 * time.Second,
		},
		"handlers become 100 times faster": {
			once(500, func(s *simulation.Scenario) {
				s.Handler = simulation.Span{Low: 2 * time.Second, High: 4 * time.Second}
				s.ChangeAt = 5 * time.Minute
				s.Change = func(s *simulation.Scenario) {
					s.Handler = simulation.Span{Low: 20 * time.Millisecond, High: 40 * time.Millisecond}
				}
			}), 2, 4 * time.Second,
		},
		"heads are dead-lettered in a row": {
			once(300, func(s *simulation.Scenario) {
				s.Handler = simulation.Span{Low: time.Millisecond, High: 50 * time.Millisecond}
				s.Faults.TargetFinal = 0.9
			}), 2, 4 * time.Second,
		},
		"heads that die of a retryable failure hold the lane no longer than they would have": {
			once(100, func(s *simulation.Scenario) {
				s.Handler, s.Attempts, s.BackoffMax = simulation.Span{Low: time.Millisecond, High: 50 * time.Millisecond}, 1, 4*time.Second
				s.Faults.TargetRetry = 0.7
			}), 2, 4 * time.Second,
		},
		"driven heads must be retried": {
			once(200, func(s *simulation.Scenario) {
				s.Handler, s.BackoffMax = simulation.Span{Low: time.Millisecond, High: 50 * time.Millisecond}, 30*time.Second
				s.Faults.TargetRetry = 0.4
			}), 4, 4 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := simulation.Run(t, test.scenario)
			for _, v := range r.Violations {
				t.Error(v)
			}
			t.Logf("makespan %v, %.2f dispatches a request, longest idle %v", r.Makespan, ratio(r), r.Idles[max(0, len(r.Idles)-6):])
			if r.Idle > test.most {
				t.Errorf("the lane stood for %v with a runnable head, at most %v allowed", r.Idle, test.most)
			}
			if rest := r.Idles[len(r.Idles)-1-test.long]; rest > handOver {
				t.Errorf("it stood more than %d times, at most %v allowed: %v", test.long, handOver, r.Idles[len(r.Idles)-10:])
			}
		})
	}
}

func ratio(r simulation.Result) float64 { return float64(r.Dispatches) / float64(r.Queued) }

// TestALaneInStepCostsOneDispatch has requests come about as fast as the lane may start them, with a backlog: what the lane has
// learned by then is its own pace.
func TestALaneInStepCostsOneDispatch(t *testing.T) {
	t.Parallel()
	r := simulation.Run(t, simulation.Scenario{
		Seed: 1, Concurrency: 1, Burst: 1, Spacing: time.Minute, Lease: 30 * time.Second, Requests: 150, Lanes: 1, Async: true, Keyed: 1,
		Handler: simulation.Span{Low: 100 * time.Millisecond, High: 500 * time.Millisecond}, Gap: simulation.Span{Low: 20 * time.Second, High: time.Minute},
	})
	if len(r.Violations) > 0 || ratio(r) > 1.05 {
		t.Errorf("%.2f dispatches a request, want at most 1.05; violations %v", ratio(r), r.Violations)
	}
}

// TestTable compares dispatches a request and makespan over ideal with the table of the design; -v prints ours.
func TestTable(t *testing.T) {
	t.Parallel()
	type lane struct {
		name                 string
		mean, spacing, guess time.Duration
		n, burst, requests   int
		dispatches, makespan float64 // at most, without faults
		lateDispatches, late float64 // at most, with 0.2 % of dispatches 30 to 180 s late
	}
	const ms = time.Millisecond
	for _, l := range []lane{
		{"order only, 0.3 s, known", 300 * ms, 0, 300 * ms, 1, 1, 1000, 1.02, 1.22, 1.03, 1.22},
		{"order only, 0.3 s, cold", 300 * ms, 0, 0, 1, 1, 1000, 1.02, 1.27, 1.03, 1.28},
		// A driver leaves a kick after half its dispatch deadline, here 80 s: one dispatch more in 27 runs of 3 s.
		{"order only, 3 s, known", 3000 * ms, 0, 3000 * ms, 1, 1, 1000, 1.04, 1.02, 1.04, 1.02},
		{"order only, 3 s, cold", 3000 * ms, 0, 0, 1, 1, 1000, 2.04, 1.02, 2.05, 1.02},
		{"order only, 50 ms, cold", 50 * ms, 0, 0, 1, 1, 1000, 1.02, 1.64, 1.03, 1.7},
		{"order only, n = 3, 0.3 s, cold", 300 * ms, 0, 0, 3, 1, 1000, 1.02, 1.28, 1.03, 1.45},
		{"spacing 1 s, 0.3 s", 300 * ms, time.Second, 0, 1, 1, 1000, 1.02, 1.01, 1.03, 1.01},
		{"spacing 1 s, 3 s, cold", 3000 * ms, time.Second, 0, 1, 1, 1000, 2.05, 1.02, 2.05, 1.02},
		{"spacing 1 s, n = 3, 3 s, cold", 3000 * ms, time.Second, 0, 3, 1, 1000, 2.05, 1.02, 2.05, 1.02},
		{"spacing 60 s, 0.3 s", 300 * ms, time.Minute, 0, 1, 1, 300, 1.02, 1.021, 1.07, 1.021},
		{"spacing 60 s, burst 5", 300 * ms, time.Minute, 0, 1, 5, 300, 1.02, 1.021, 1.07, 1.021},
		{"spacing 60 s, 90 s, cold", 90 * time.Second, time.Minute, 0, 1, 1, 100, 2.6, 1.02, 2.7, 1.02},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []bool{false, true} {
				s := once(l.requests, func(s *simulation.Scenario) {
					s.Mean, s.Spacing, s.Guess, s.Concurrency, s.Burst = l.mean, l.spacing, l.guess, l.n, l.burst
				})
				dispatches, makespan := l.dispatches, l.makespan
				if late {
					s.Faults.Late, dispatches, makespan = 0.002, l.lateDispatches, l.late
				}
				// Of few requests now and then one is late, and costs some forty dispatches: the table is of the mean.
				seeds := uint64(1)
				if late && l.requests < 1000 {
					seeds = 12
				}
				var per, took, scripts, looks float64
				for s.Seed = 1; s.Seed <= seeds; s.Seed++ {
					r := simulation.Run(t, s)
					for _, v := range r.Violations {
						t.Error(v)
					}
					per += ratio(r) / float64(seeds)
					took += float64(r.Makespan) / float64(r.Ideal()) / float64(seeds)
					scripts += float64(calls(r)) / float64(l.requests) / float64(seeds)
					looks += float64(r.Calls["get"]) / float64(l.requests) / float64(seeds)
				}
				line := fmt.Sprintf("%-32s late=%-5t %.2f / %.3f (table %.2f / %.3f), %.2f scripts and %.2f look-ups a request", l.name, late,
					per, took, dispatches, makespan, scripts, looks)
				t.Log(line)
				if per > dispatches || took > makespan {
					t.Errorf("worse than the table: %s", line)
				}
			}
		})
	}
}

func calls(r simulation.Result) (n int) {
	for _, verb := range []string{"reserve", "start", "finish", "renew", "confirm", "void", "missing", "settle", "kick"} {
		n += r.Calls[verb]
	}
	return n
}
