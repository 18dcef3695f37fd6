package simulation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// TestAFailingRunShrinks takes a rule away and wants a history that a person can read. What seeds draw changes with the protocol, so
// the first of some that fails will do.
func TestAFailingRunShrinks(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{32, 28, 40, 56} {
		s := simulation.Draw(seed)
		s.Without = []twin.Rule{twin.FenceAtFinish}
		whole := simulation.Run(t, s.Traced())
		if len(whole.Violations) == 0 {
			continue
		}
		small := simulation.Shrink(t, whole, 10*time.Second)
		if lines := strings.Count(small.Trace(), "\n"); len(small.Violations) > 0 && lines <= 200 {
			t.Logf("seed %d: %d lines, of %d:\n%s", seed, lines, strings.Count(whole.Trace(), "\n"), small.Trace())
			return
		}
	}
	t.Error("no seed shrinks to at most 200 lines: take other ones of testdata/mutations.txt")
}
