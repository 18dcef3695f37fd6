package simulation_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// tally counts by kind.
type tally map[string]int

func (t tally) plus(other tally) tally {
	sum := maps.Clone(t)
	if sum == nil {
		sum = tally{}
	}
	for kind, n := range other {
		sum[kind] += n
	}
	return sum
}

// recorded is what emulator/guarantees reads, and what else a reader may want to know.
type recorded struct {
	Date     string `json:"date"`
	Seconds  int    `json:"seconds"` // of real time
	Seeds    int    `json:"seeds"`
	Requests int    `json:"requests"` // acknowledged
	// Stormy are the requests of runs where 5 to 15 % of the steps went wrong.
	Stormy     int   `json:"requests_at_5_to_15_percent_faults"`
	Steps      int   `json:"steps"`
	Runs       int   `json:"target_calls"`
	Faults     tally `json:"faults"`
	Losses     tally `json:"losses"`
	Rollbacks  int   `json:"rollbacks"`
	Violations int   `json:"violations"` // runs with any
	Exceptions tally `json:"exceptions"`
}

// write records the run in a file.
func (s *sums) write(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := recorded{
		Date: s.began.Format(time.DateOnly), Seconds: int(time.Since(s.began).Seconds()), Seeds: s.seeds, Requests: s.requests, Stormy: s.stormy,
		Steps: s.steps, Runs: s.runs, Faults: s.kinds, Losses: tally{}.plus(s.losses), Rollbacks: s.losses[string(simulation.RolledBack)],
		Violations: s.broken, Exceptions: s.exceptions,
	}
	delete(out.Losses, string(simulation.RolledBack))
	delete(out.Faults, "loss") // they are the losses
	text, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
