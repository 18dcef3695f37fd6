package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func faults(t *testing.T, text string) engine.Faults {
	t.Helper()
	f, err := engine.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFaultsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	got := faults(t, " late=0.002:30s-180s,jitter=20ms-200ms,duplicate=0.01,lose-reply=0.01,error=0.01,,late=0.1:~1m,error=0.5:NOT_FOUND@GetTask,error=0.1:ABORTED,reorder=0.25,freeze=1:3s")
	want := engine.Faults{
		Late:      []engine.Chance{{Probability: 0.002, Delay: engine.Delay{Min: 30 * time.Second, Max: 3 * time.Minute}}, {Probability: 0.1, Delay: engine.Delay{Max: time.Minute, Exponential: true}}},
		Jitter:    engine.Delay{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond},
		Duplicate: []engine.Chance{{Probability: 0.01, Delay: engine.Delay{Max: time.Second}}},
		LoseReply: 0.01,
		Errors:    []engine.ErrorRate{{Probability: 0.01, Code: codes.Unavailable}, {Probability: 0.5, Code: codes.NotFound, Method: "GetTask"}, {Probability: 0.1, Code: codes.Aborted}},
		Reorder:   0.25,
		Freeze:    []engine.Chance{{Probability: 1, Delay: engine.Delay{Min: 3 * time.Second, Max: 3 * time.Second}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, faults(t, got.String())); diff != "" {
		t.Errorf("read back from %q (-want +got):\n%s", got, diff)
	}
	if none := faults(t, ""); none.String() != "" {
		t.Errorf("no faults are written as %q", none)
	}
}

func TestBadFaultsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"late", "late=0.1", "late=2:1s-2s", "late=NaN:1s", "late=-0.1:1s", "late=0.1:2s-1s", "late=0.1:1s-", "late=0.1:-1s", "late=0.1:~x", "late=0.1:721h",
		"jitter=", "jitter=5", "duplicate=", "duplicate=x", "lose-reply=", "reorder=1.5", "error=0.1:NOPE", "error=0.1:OK", "error=", "freeze=1", "what=1", "=",
	} {
		_, err := engine.ParseFaults("reorder=0.5," + text)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("fault %q", text)) {
			t.Errorf("%q: error %v does not name it", text, err)
		}
	}
}

// dispatched is what happens to 300 tasks under faults: when and how each
// starts. Tasks are created in the given order.
func dispatched(t *testing.T, text string, seed uint64, order func(i int) int) map[string]string {
	w := setup(t, engine.Options{Seed: seed, Faults: faults(t, text)}, limits(500, 500, 0))
	for i := range 300 {
		w.create(named(fmt.Sprintf("t%d", order(i))))
	}
	w.run(time.Hour)
	got := map[string]string{}
	for _, a := range w.starts {
		got[a.Task] += fmt.Sprintf(" %v", a.Started.Sub(start))
	}
	return got
}

func TestTheSameSeedGivesTheSameFaultsInWhateverOrderTasksCome(t *testing.T) {
	t.Parallel()
	const text = "late=0.1:30s-180s,jitter=20ms-200ms,duplicate=0.1:1s-5s"
	up := func(i int) int { return i }
	down := func(i int) int { return 299 - i }
	one := dispatched(t, text, 7, up)
	if diff := cmp.Diff(one, dispatched(t, text, 7, down)); diff != "" {
		t.Errorf("the same seed, another order (-up +down):\n%s", diff)
	}
	if cmp.Equal(one, dispatched(t, text, 8, up)) {
		t.Error("another seed gave the same faults")
	}
}

func TestLateAndJitterDelayDispatches(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "late=0.1:30s-180s,jitter=20ms-200ms")}, limits(500, 1000, 0))
	for range 1000 {
		w.create()
	}
	w.run(time.Hour)
	late := 0
	for _, offset := range w.offsets() {
		switch {
		case offset >= 30*time.Second+20*time.Millisecond && offset <= 180*time.Second+200*time.Millisecond:
			late++
		case offset < 20*time.Millisecond || offset > 200*time.Millisecond:
			t.Errorf("a start at %v is neither late nor in the jitter", offset)
		}
	}
	if late < 70 || late > 130 {
		t.Errorf("%d of 1000 late, want about 100", late)
	}
}

func TestDuplicatesAreSentWithTheSameHeadersAndCountForNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "duplicate=1:2s")}, retries(-1, 0, time.Minute, time.Minute, 1))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		return engine.Result{Status: []int{500, 200, 200, 500}[len(w.starts)-1]}, 5 * time.Second
	}
	w.create()
	w.run(time.Hour)
	// The attempt at 0 s fails, its duplicate's 200 does not save the task; the
	// attempt at 65 s succeeds, its duplicate's 500 does not bring it back.
	if diff := cmp.Diff(seconds(0, 2, 65, 67), w.offsets()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	for i := 0; i < 4; i += 2 {
		if diff := cmp.Diff(w.starts[i].Request, w.starts[i+1].Request); diff != "" {
			t.Errorf("the duplicate differs (-first +second):\n%s", diff)
		}
	}
	if s := w.Stats(); s.Dispatches != 4 || s.Duplicates != 2 || s.Completed != 1 || s.Waiting != 0 || s.InFlight != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestDuplicatesStayWithinTheQueuesConcurrency(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "duplicate=1:0s")}, limits(500, 100, 1))
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 200}, time.Second }
	w.create()
	w.run(time.Minute)
	if diff := cmp.Diff(seconds(0, 1), w.offsets()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestReorderTakesAnyDueTaskButNoneThatIsNot(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "reorder=1")}, limits(500, 1, 0))
	for i := range 50 {
		w.create(named(fmt.Sprint(i)))
		w.create(due(start.Add(time.Minute)))
	}
	w.run(time.Second)
	inOrder := true
	for i, a := range w.starts {
		inOrder = inOrder && a.Task == fmt.Sprint(name, "/tasks/", i)
	}
	if len(w.starts) != 50 || inOrder {
		t.Errorf("%d started before the others were due, in order: %v", len(w.starts), inOrder)
	}
}

func TestAFrozenQueueStartsNothingUntilItThaws(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "freeze=1:1m")})
	for range 4 {
		w.create()
	}
	w.run(90 * time.Second)
	w.SetFaults(engine.Faults{})
	w.run(0)
	if diff := cmp.Diff(seconds(0, 60, 90, 90), w.offsets()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestCallsAreRefusedAndRepliesLostAtTheirRates(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{Faults: faults(t, "error=0.2:ABORTED@GetTask,lose-reply=0.3")})
	count := func(draw func() error, code codes.Code) (n int) {
		for range 1000 {
			if err := draw(); status.Code(err) == code {
				n++
			}
		}
		return n
	}
	for what, c := range map[string]struct{ got, low, high int }{
		"GetTask":    {count(func() error { return w.Refuse("GetTask") }, codes.Aborted), 150, 250},
		"CreateTask": {count(func() error { return w.Refuse("CreateTask") }, codes.OK), 1000, 1000},
		"replies":    {count(w.LoseReply, codes.Unavailable), 250, 350},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s: %d of 1000, want %d to %d", what, c.got, c.low, c.high)
		}
	}
}

func TestAnyTextIsRefusedOrReadBack(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"late", "jitter", "duplicate", "error", "freeze", "reorder", "=", ",", ":", "-", "~", "@", "0.5", "1", "1s", "30m", "ABORTED", " ", "x"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		read, err := engine.ParseFaults(text)
		if err != nil {
			return
		}
		again, err := engine.ParseFaults(read.String())
		if diff := cmp.Diff(read, again); diff != "" || err != nil {
			t.Fatalf("%q is written as %q, which reads (-first +again):\n%s%v", text, read, diff, err)
		}
	})
}
