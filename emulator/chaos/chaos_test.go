package chaos_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/chaos"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// TestMain is one of the functions where the driver starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == chaos.Command {
		if err := chaos.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestChaos(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	firestoretest.Require(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := chaos.Run(t.Context(), chaos.Options{For: 10 * time.Second, Seed: 1, Program: []string{program}, Dir: t.TempDir(), Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r.Table())
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if r.Requests.Acknowledged == 0 || r.Kills == 0 || r.Replays == 0 {
		t.Error("nothing was acknowledged, killed or replayed")
	}
}
