package simulation_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// call is an operator's on the one lane of these scenarios.
func call(at time.Duration, path string, then func(*simulation.World)) simulation.Operation {
	return to(at, func(*simulation.World) string { return path }, then)
}

func to(at time.Duration, path func(*simulation.World) string, then func(*simulation.World)) simulation.Operation {
	return simulation.Operation{
		At: at, Method: http.MethodPost, Path: func(w *simulation.World) string { return "/v1/lanes/L0/" + path(w) },
		Then: func(w *simulation.World, status int) {
			if status != http.StatusOK {
				panic(status)
			}
			then(w)
		},
	}
}

func quick(s *simulation.Scenario) {
	s.Handler, s.Spacing = simulation.Span{Low: time.Millisecond, High: 5 * time.Millisecond}, 100*time.Millisecond
}

func wantKept(t *testing.T, r simulation.Result, requests int) {
	t.Helper()
	if r.Requests != requests || len(r.Violations) > 0 {
		t.Errorf("%d requests, violations %v, want %d and none", r.Requests, r.Violations, requests)
	}
}

func TestAPausedLaneCostsLittleAndGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	const waiting, pausedFor = 400, 2 * time.Hour
	var paused, resumed int64
	var before, after int
	s := once(waiting, quick)
	s.Operations = []simulation.Operation{
		call(5*time.Second, "pause", func(w *simulation.World) { before = w.Runs() }),
		// What was to come in the first minutes has come and snoozed.
		call(10*time.Minute, "pause", func(w *simulation.World) { paused = w.Dispatches() }),
		call(pausedFor, "pause", func(w *simulation.World) {
			resumed = w.Dispatches()
			if n := w.Runs(); n > before+1 {
				t.Errorf("%d runs while paused, want at most the one under way", n-before)
			}
		}),
		call(pausedFor+time.Minute, "resume", func(w *simulation.World) { before = w.Runs() }),
		call(pausedFor+time.Minute+time.Second, "resume", func(w *simulation.World) { after = w.Runs() }),
	}
	r := simulation.Run(t, s)
	wantKept(t, r, waiting)
	spans := float64(pausedFor-10*time.Minute) / float64(10*time.Minute)
	if per := float64(resumed-paused) / waiting / spans; per > 1 {
		t.Errorf("%.2f dispatches per waiting request and 10 minutes, want at most 1", per)
	} else {
		t.Logf("%.2f dispatches per waiting request and 10 minutes while paused; %d runs in the first second after", per, after-before)
	}
	if after == before {
		t.Error("nothing started within a second after resume")
	}
}

func TestAnOutageOfTheTargetForAnHourKillsNothing(t *testing.T) {
	t.Parallel()
	const requests = 300
	s := once(requests, quick)
	s.BackoffMax = 10 * time.Minute // the default
	s.Down = func(at time.Duration) bool { return at > 2*time.Second && at < time.Hour }
	r := simulation.Run(t, s)
	wantKept(t, r, requests)
	if r.Dead != 0 || r.Makespan > time.Hour+12*time.Minute {
		t.Errorf("%d dead after %v, want none, and all done within a backoff of the outage's end", r.Dead, r.Makespan)
	}
	t.Logf("%.2f dispatches per request, done after %v", float64(r.Dispatches)/requests, r.Makespan)
}

func TestAParkedLaneStandsUntilSomebodySpeaks(t *testing.T) {
	t.Parallel()
	const requests = 60
	s := once(requests, quick)
	s.Park, s.Attempts, s.BackoffMax = true, 2, 2*time.Second
	// It is down for a while twice: once its head is redriven when it works again, once it is skipped while it does not.
	s.Down = func(at time.Duration) bool {
		return at > time.Second && at < 20*time.Minute || at > 30*time.Minute+2*time.Second && at < 50*time.Minute
	}
	head := func(suffix string) func(*simulation.World) string {
		return func(w *simulation.World) string { return "requests/" + w.Head("L0") + suffix }
	}
	var depth int64
	s.Operations = []simulation.Operation{
		call(10*time.Minute, "pause", func(w *simulation.World) { depth = w.Depth("L0") }),
		call(19*time.Minute, "resume", func(w *simulation.World) {
			if n := w.Depth("L0"); n != depth || n == 0 {
				t.Errorf("%d waiting, %d minutes ago %d: the lane went on", n, 9, depth)
			}
		}),
		to(30*time.Minute, head("/skip"), func(*simulation.World) {}),
		to(51*time.Minute, head("/skip"), func(*simulation.World) {}),
	}
	r := simulation.Run(t, s)
	wantKept(t, r, requests)
	if r.Dead != 2 {
		t.Errorf("%d dead, want the two that were skipped", r.Dead)
	}
}

func TestAPurgedLaneIsEmptyAndTakesNewWork(t *testing.T) {
	t.Parallel()
	s := once(200, quick)
	s.Operations = []simulation.Operation{call(5*time.Second, "purge", func(w *simulation.World) {
		if n := w.Depth("L0"); n > 1 {
			t.Errorf("%d left, want at most the one that runs", n)
		}
	})}
	s.Gap = simulation.Span{Low: 40 * time.Millisecond, High: 60 * time.Millisecond} // half of them come after
	r := simulation.Run(t, s)
	wantKept(t, r, 200)
	if r.Runs < 120 || r.Runs > 160 {
		t.Errorf("%d runs, want those of the first 5 s and of the second half", r.Runs)
	}
}
