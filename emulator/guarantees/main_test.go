package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func readme(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, readmeFile))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReadmeSaysWhatTheRunsHaveShown(t *testing.T) {
	t.Parallel()
	text := readme(t)
	want, err := rewrite(root, text)
	if diff := cmp.Diff(string(want), string(text)); err != nil || diff != "" {
		t.Errorf("%v, run go generate ./emulator/guarantees (-files +README.md):\n%s", err, diff)
	}
}

// The tables of the section name tests: they must be there.
func TestEveryTestThatReadmeNamesIsThere(t *testing.T) {
	t.Parallel()
	_, section, _ := bytes.Cut(readme(t), []byte("\n## Guarantees\n"))
	section, _, _ = bytes.Cut(section, []byte("\n## "))
	named := regexp.MustCompile("`(Test[A-Za-z_]+)`").FindAllSubmatch(section, -1)
	if len(named) == 0 {
		t.Fatal("no test is named in the section Guarantees")
	}
	there := tests(t)
	for _, name := range named {
		if !strings.Contains(there, "\nfunc "+string(name[1])+"(") {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

// tests is the text of all test files.
func tests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, readmeFile, "before\n"+begin+"old\n"+end+"after\n")
	generated := func() string {
		t.Helper()
		if err := generate(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, readmeFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := "before\n" + begin + "\n**Simulation.** No run is recorded.\n\n**Real processes.** No run is recorded.\n\n" + end + "after\n"
	if diff := cmp.Diff(want, generated()); diff != "" {
		t.Errorf("without runs (-want +got):\n%s", diff)
	}

	write(t, dir, simulationFile, `{"date": "2026-12-01", "seeds": 1200, "requests": 1234567, "steps": 5, "faults": {"late": 1000, "crash": 2},
		"losses": [1, 2, 3], "rollbacks": 0, "violations": [], "exceptions": {"a window": 4}, "more": true}`)
	write(t, dir, mutationsFile, "1\twithout: a\n-\twithout: b\tfor cost\ntest\twithout: c\tx_test.go: c\n23\tdefect: d\n")
	write(t, dir, chaosFile, `{"date": "2026-12-01", "for": "10m0s", "requests": {"acknowledged": 24000, "done": 23000}, "target_calls": 25000, "kills": 12,
		"faults": {"late": 7}, "losses": [{"kind": "x"}], "recovery": {"median_first_start_s": 8.04, "worst_first_start_s": 11, "quarantine_s": 6.667},
		"reruns": {"killed": 3}, "exceptions": {}, "violations": {"order": 1}}`)
	want = "before\n" + begin + `
**Simulation** (2026-12-01). 1,234,567 acknowledged requests of 1,200 seeds, the real code of both functions, 5 steps, 1,002 faults, 3 losses of Redis and 0 rollbacks: **0 violations**, 4 exceptions in the windows. Of 4 mutations, each a rule taken out or a defect put in, 3 are noticed by a test.

**Real processes** (2026-12-01). 10m0s under load, 24,000 acknowledged requests, 7 faults, 12 kills of a function, 1 losses of Redis: **1 violation**, 0 exceptions in the windows. 25,000 calls of the target, 3 of them runs again that a fault explains. From a loss to the next start 8.0 s in the median, 11.0 s at worst; the quarantine was 6.7 s.

What fell into a window, in these two runs:

| window | simulation | processes |
|---|---|---|
| a window | 4 |  |

Faults by kind:

| fault | simulation | processes |
|---|---|---|
| crash | 2 |  |
| late | 1,000 | 7 |

` + end + "after\n"
	for range 2 { // generated again it is the same
		if diff := cmp.Diff(want, generated()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	for name, text := range map[string]string{
		"no comments": "before\n", "one comment": begin, "in the wrong order": end + begin, "twice": begin + end + begin + end,
	} {
		write(t, dir, readmeFile, text)
		if err := generate(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	write(t, dir, readmeFile, begin+end)
	for _, text := range []string{"{", `{"faults": true}`, `{"faults": {"late": "many"}}`} {
		write(t, dir, simulationFile, text)
		if err := generate(dir); err == nil || !strings.Contains(err.Error(), simulationFile) {
			t.Errorf("%s: %v, want the file named", text, err)
		}
	}
}
