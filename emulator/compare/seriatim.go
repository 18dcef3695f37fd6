package compare

import (
	"fmt"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// seriatim runs the product's own code, in a bubble of testing/synctest, for which t is needed.
func seriatim(t *testing.T, load *workload, seed uint64) (*log, costs, error) {
	t.Helper()
	l := newLog(len(load.submissions))
	s := simulation.Scenario{
		Seed: seed, Concurrency: 1, Burst: 1, Spacing: load.Spacing, Lease: 30 * time.Second, Load: load.submissions,
		Watch: func(i int, m simulation.Moment, at time.Duration) {
			switch m {
			case simulation.Answered:
				l.answer(i, at)
			case simulation.Started:
				l.start(i, at)
			case simulation.Ended:
				l.end(i, at)
			}
		},
	}
	if load.Late {
		s.Faults.Late = lateShare
	}
	r := simulation.Run(t, s)
	c := costs{
		Dispatches: int(r.Dispatches), Operations: int(r.Dispatches) + r.Calls[simulation.QueueCalls], Redis: r.Calls[simulation.RedisCommands],
	}
	if len(r.Violations) > 0 {
		return nil, c, fmt.Errorf("the simulation saw a promise broken: %s", r.Violations[0])
	}
	return l, c, nil
}
