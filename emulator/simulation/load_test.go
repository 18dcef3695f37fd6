package simulation_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// TestALoadCanBeGiven has three requests of two lanes come at given instants, and looks on.
func TestALoadCanBeGiven(t *testing.T) {
	t.Parallel()
	s := once(0, func(s *simulation.Scenario) { s.Spacing, s.Async = time.Minute, false })
	s.Load = []simulation.Submission{
		{At: time.Second, Lane: "a", Takes: 10 * time.Second},
		{At: 2 * time.Second, Lane: "a", Takes: time.Second},
		{At: 3 * time.Second, Lane: "b", Takes: 20 * time.Second},
	}
	var mu sync.Mutex
	seen := map[simulation.Moment][]int{}
	s.Watch = func(i int, m simulation.Moment, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		seen[m] = append(seen[m], i)
	}
	r := simulation.Run(t, s)
	want := map[simulation.Moment][]int{
		simulation.Answered: {1, 0, 2}, // the first and the last run at once, and are answered when they have
		simulation.Started:  {0, 2, 1},
		simulation.Ended:    {0, 2, 1},
	}
	if d := cmp.Diff(want, seen); d != "" || len(r.Violations) > 0 || r.Makespan < time.Minute || r.Makespan > 63*time.Second {
		t.Errorf("(-want +got)\n%s\nmakespan %v, want 62 s; violations %v", d, r.Makespan, r.Violations)
	}
}
