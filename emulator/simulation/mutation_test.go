package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

var (
	search = flag.Int("search", 0, "look for seeds that catch the mutations, up to this one, and write the list anew")
	only   = flag.String("only", "", "with -search: just the mutations whose name has this text")
)

// list has a line for every mutation: the seed that catches it, or "-" for one that no seed has caught, and its name.
const list = "testdata/mutations.txt"

// TestMutations takes one rule out of the protocol, or puts one defect into its surroundings, at a time: the seed in the list
// must see a promise broken. A rule that is in no list fails the test, and so does one that was thought superfluous and is not.
func TestMutations(t *testing.T) {
	t.Parallel()
	if *search > 0 {
		find(t)
		return
	}
	seeds := listed(t)
	for _, m := range mutations() {
		seed, found := seeds[m.name]
		delete(seeds, m.name)
		switch {
		case !found:
			t.Errorf("mutation %q is not in %s: run with -search 2000", m.name, list)
		case seed != "-":
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				n, err := strconv.ParseUint(seed, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if len(simulation.Run(t, m.scenario(n)).Violations) == 0 {
					t.Errorf("seed %d no longer catches it: run with -search 2000", n)
				}
			})
		}
	}
	for name := range seeds {
		t.Errorf("%s lists %q, which is no mutation", list, name)
	}
}

// listed reads the list: the seed of each name.
func listed(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	seeds := map[string]string{}
	for line := range strings.Lines(string(text)) {
		seed, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		seeds[name] = seed
	}
	return seeds
}

// mutation is one change for the worse.
type mutation struct {
	name   string
	mutate func(*simulation.Scenario)
}

func (m mutation) scenario(seed uint64) simulation.Scenario {
	s := simulation.Draw(seed)
	s.Settle = 2 * time.Hour // a lane that is wedged need not churn for long
	m.mutate(&s)
	return s
}

func mutations() (all []mutation) {
	for _, r := range twin.Rules {
		all = append(all, mutation{"without: " + string(r), func(s *simulation.Scenario) { s.Without = []twin.Rule{r} }})
	}
	for _, d := range simulation.Defects {
		all = append(all, mutation{"defect: " + string(d), func(s *simulation.Scenario) { s.Defects = []simulation.Defect{d} }})
	}
	return all
}

// find writes the list.
func find(t *testing.T) {
	var mu sync.Mutex
	var group sync.WaitGroup
	found := listed(t)
	work := make(chan mutation)
	for range 2 {
		group.Go(func() {
			for m := range work {
				seed, why := catch(t, m)
				t.Logf("%-5s %-45s %s", seed, m.name, why)
				mu.Lock()
				found[m.name] = seed
				mu.Unlock()
			}
		})
	}
	all := mutations()
	for _, m := range all {
		if strings.Contains(m.name, *only) {
			work <- m
		}
	}
	close(work)
	group.Wait()
	var text strings.Builder
	for _, m := range all {
		fmt.Fprintf(&text, "%s\t%s\n", found[m.name], m.name)
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func catch(t *testing.T, m mutation) (seed, violation string) {
	for n := uint64(1); n <= uint64(*search); n++ {
		if r := simulation.Run(t, m.scenario(n)); len(r.Violations) > 0 {
			return strconv.FormatUint(n, 10), r.Violations[0]
		}
	}
	return "-", ""
}
