package simulation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// TestAFailingRunShrinks takes a rule away and wants a history that a person can read.
func TestAFailingRunShrinks(t *testing.T) {
	t.Parallel()
	s := simulation.Draw(10)
	s.Without = []twin.Rule{twin.FenceAtFinish}
	whole := simulation.Run(t, s.Traced())
	if len(whole.Violations) == 0 {
		t.Fatal("seed 10 no longer fails without the rule: take the one of testdata/mutations.txt")
	}
	small := simulation.Shrink(t, whole, time.Minute)
	lines := strings.Count(small.Trace(), "\n")
	t.Logf("%d lines, of %d:\n%s", lines, strings.Count(whole.Trace(), "\n"), small.Trace())
	if len(small.Violations) == 0 || lines > 200 {
		t.Errorf("%d violations in %d lines, want at least one in at most 200", len(small.Violations), lines)
	}
}
