package compare_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/compare"
)

var update = flag.Bool("update", false, "write what the command makes to results/ and README.md")

// shown are the committed files; the command makes more pictures.
var shown = []string{"compare.txt", "compare.json", "second-late-light.svg", "second-late-dark.svg"}

const readme = "../../README.md"

// TestWhatIsCommittedComesFromTheCommand runs the command as a reader would, and looks into what it made.
func TestWhatIsCommittedComesFromTheCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	printed := runCommand(t, dir)
	t.Run("the table is printed", func(t *testing.T) {
		if d := cmp.Diff(string(read(t, filepath.Join(dir, "compare.txt"))), printed); d != "" {
			t.Errorf("(-written +printed):\n%s", d)
		}
		for line := range strings.Lines(printed) {
			if len(line) > 121 { // with its newline
				t.Errorf("wider than 120 columns: %s", line)
			}
		}
	})
	t.Run("files", func(t *testing.T) {
		for _, name := range shown {
			same(t, filepath.Join("results", name), string(read(t, filepath.Join(dir, name))))
		}
	})
	var report compare.Report
	if err := json.Unmarshal(read(t, filepath.Join(dir, "compare.json")), &report); err != nil {
		t.Fatal(err)
	}
	t.Run("README", func(t *testing.T) {
		const begin, end = "<!-- compare -->\n", "<!-- /compare -->\n"
		before, rest, _ := strings.Cut(string(read(t, readme)), begin)
		_, after, found := strings.Cut(rest, end)
		if !found {
			t.Fatalf("README.md has no place between %q and %q", begin, end)
		}
		same(t, readme, before+begin+report.Results[len(report.Results)-1].Markdown()+end+after)
	})
	t.Run("Seriatim keeps every promise", func(t *testing.T) { keeps(t, report) })
	t.Run("the others have their defects", func(t *testing.T) { breaks(t, report) })
}

// runCommand builds the emulator and has it compare.
func runCommand(t *testing.T, dir string) (printed string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "emulator")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("build the emulator: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "compare", "-out", dir).Output()
	if err != nil {
		t.Fatalf("emulator compare: %v", err)
	}
	return string(out)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// same compares a committed file with what it should be, or makes it so.
func same(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(read(t, name))); d != "" {
		t.Errorf("%s is not what the command makes (go test ./emulator/compare -update writes it; -want +got):\n%s", name, d)
	}
}

func keeps(t *testing.T, report compare.Report) {
	if len(report.Results) != 8 {
		t.Fatalf("%d results, want 4 loads without and with late dispatches", len(report.Results))
	}
	for _, r := range report.Results {
		row := r.Rows[len(r.Rows)-1]
		if row.Strategy != "Seriatim" || row.Inversions+row.Overlaps+row.Early > 0 {
			t.Errorf("%s: %+v", r.Title, row)
		}
		if row.Dispatches > 2 || row.Makespan > 1.03 {
			t.Errorf("%s: %.2f dispatches a request, makespan %.3f; want at most 2 and 1.03", r.Title, row.Dispatches, row.Makespan)
		}
	}
}

// breaks looks for the defect of each strategy where it shows best.
func breaks(t *testing.T, report compare.Report) {
	const queue, lock, article, atomic = 0, 1, 2, 3
	row := func(load string, late bool, strategy int) compare.Row {
		for _, r := range report.Results {
			if r.Load == load && r.Late == late {
				return r.Rows[strategy]
			}
		}
		t.Fatalf("no load %q", load)
		return compare.Row{}
	}
	for _, defect := range []struct {
		what  string
		shows bool
	}{
		{"a queue per key: jitter swaps requests", row("minute", false, queue).Inversions > 100},
		{"a queue per key: a late task is overtaken", row("second", true, queue).Inversions > row("second", false, queue).Inversions},
		{"lock: half a million dispatches for a thousand requests", row("minute", false, lock).Dispatches > 490},
		{"lock: no order", row("minute", false, lock).Inversions > 900},
		{"lock: quiet tenants pay for the noisy one", row("noisy", false, lock).Quiet.P99 > 1.5*row("noisy", false, queue).Quiet.P99},
		{"article: two get one slot, and start at once", row("minute", false, article).Early > 100},
		{"article: runs overlap", row("minute", false, article).Overlaps > 100},
		{"article: who is late is overtaken", row("second", true, article).Inversions > 100},
		{"atomic: a herd at one common instant", row("second", false, atomic).Dispatches > 10},
		{"atomic: out of which they start in random order", row("second", false, atomic).Inversions > 500},
		{"atomic: a long handler overlaps the next", row("second", false, atomic).Overlaps > 0},
		{"atomic: no order without a pace", row("order", false, atomic).Overlaps > 100},
	} {
		if !defect.shows {
			t.Errorf("not to be seen: %s", defect.what)
		}
	}
}
