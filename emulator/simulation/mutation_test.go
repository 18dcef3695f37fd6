package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seriatim/seriatim/emulator/simulation"
)

var (
	search = flag.Int("search", 0, "look for seeds that catch the mutations, up to this one, and write the list anew")
	only   = flag.String("only", "", "with -search: just the mutations whose name has this text")
)

// list has a line for every mutation, of three columns between tabs: how it is caught, its name, a remark. How is a seed; or
// "test", and the remark is a file and a text in it, the directed test; or "-" for a rule that nothing needs, and the remark says
// why it stays.
const list = "testdata/mutations.txt"

// TestMutations takes one rule out of the protocol, or puts one defect into its surroundings, at a time: the seed in the list,
// or one of some others, must see a promise broken. A mutation that is not in the list fails the test, and so does one that nothing catches and nobody
// has explained.
func TestMutations(t *testing.T) {
	t.Parallel()
	if *search > 0 {
		find(t)
		return
	}
	lines := listed(t)
	for _, m := range mutations() {
		l, found := lines[m.name]
		delete(lines, m.name)
		if !found {
			t.Errorf("mutation %q is not in %s: run with -search 2000", m.name, list)
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			l.check(t, m)
		})
	}
	for name := range lines {
		t.Errorf("%s lists %q, which is no mutation", list, name)
	}
}

// others are tried when the seed of the list fails: a change of the protocol changes what happens in every run.
var others = func() (seeds []uint64) {
	for n := range uint64(200) {
		seeds = append(seeds, n+1)
	}
	return seeds
}()

// entry is a line of the list.
type entry struct{ how, remark string }

func (l entry) check(t *testing.T, m mutation) {
	switch l.how {
	case "-":
		if l.remark == "" {
			t.Errorf("nothing catches it, and %s does not say why the rule stays", list)
		}
	case "test":
		file, text, _ := strings.Cut(l.remark, ": ")
		source, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(source), text) {
			t.Errorf("%s has no test %q: %v", file, text, err)
		}
	default:
		n, err := strconv.ParseUint(l.how, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range append([]uint64{n}, others...) {
			if m.breaks(simulation.Run(t, m.scenario(seed))) != "" {
				if seed != n {
					t.Logf("seed %d no longer catches it, seed %d does: run with -search 2000", n, seed)
				}
				return
			}
		}
		t.Errorf("neither seed %d nor the first %d catch it: run with -search 2000", n, len(others))
	}
}

func listed(t *testing.T) map[string]entry {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]entry{}
	for line := range strings.Lines(string(text)) {
		columns := append(strings.Split(strings.TrimRight(line, "\n"), "\t"), "", "")
		lines[columns[1]] = entry{columns[0], columns[2]}
	}
	return lines
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
				if l := found[m.name]; seed != "-" || l.how != "test" && l.how != "-" {
					found[m.name] = entry{how: seed}
				}
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
		l := found[m.name]
		text.WriteString(strings.TrimRight(fmt.Sprintf("%s\t%s\t%s", l.how, m.name, l.remark), "\t") + "\n")
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// catch returns the first seed that sees the mutation, and nothing without it.
func catch(t *testing.T, m mutation) (seed, violation string) {
	for n := uint64(1); n <= uint64(*search); n++ {
		mutated := m.scenario(n)
		why := m.breaks(simulation.Run(t, mutated))
		if why == "" {
			continue
		}
		sound := mutated
		sound.Without, sound.Defects = nil, nil
		if m.breaks(simulation.Run(t, sound)) == "" {
			return strconv.FormatUint(n, 10), why
		}
	}
	return "-", ""
}
