package firestoretest

import (
	"strings"
	"testing"
)

// recorder is a testing.TB that notes how a test would end.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, _ ...any) { r.end("failed: " + format) }

func (r *recorder) Skipf(format string, _ ...any) { r.end("skipped: " + format) }

func (r *recorder) end(how string) {
	r.ended = how
	panic(r) // Require must not go on
}

func TestRequire(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for real, want := range map[string]string{"": "skipped", "1": "failed"} {
		t.Setenv("SERIATIM_REQUIRE_REAL", real)
		r := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			Require(r)
		}()
		if !strings.HasPrefix(r.ended, want) {
			t.Errorf("without an emulator, SERIATIM_REQUIRE_REAL=%q: %q, want %s", real, r.ended, want)
		}
	}
}
