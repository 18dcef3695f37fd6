package console_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/seriatim/seriatim/emulator/console"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
)

// mortal are the scripts of an instance that cannot finish the first run of any request of the lanes held-…
type mortal struct{ lane.Slots }

func (s mortal) Finish(ctx context.Context, l slot.Lane, req slot.FinishRequest) (slot.Finished, error) {
	if req.Grant.Attempt == 1 && strings.HasPrefix(l.Key, "held-") {
		req.Grant.Fence++ // a lease that it does not have
	}
	return s.Slots.Finish(ctx, l, req)
}

// die has the first runs of the lanes held-… end in a lost lease. It comes before the first request.
func die(s *stack.Stack) {
	p := s.Parts[0]
	p.Runner.Slots = s.Journal.Runs(mortal{p.Slots})
}

// bind binds a key to its policy, for calls that the journal does not see, as those of another process.
func bind(t *testing.T, s *stack.Stack, key string) slot.Lane {
	t.Helper()
	l, err := lane.Bind(s.Parts[0].Config.Policy, key)
	if err != nil {
		t.Fatal(err)
	}
	return l.Slot
}

func TestTheJournalTellsWhatOnlyThoseWhoLookFind(t *testing.T) {
	t.Parallel()
	t.Run("a deadline that passed while it waited", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		call(t, s, "POST", "/v1/lanes/fast-a/pause")
		id := call(t, s, "POST", "/v1/lanes/fast-a/requests", "Seriatim-Deadline: 1")
		got := happened(t, s, "fast-a", console.Reserved, console.Snoozed, console.Dead)
		dead := got[len(got)-1]
		want := console.Event{Kind: console.Dead, Key: "fast-a", ID: id, Ticket: got[1].Ticket, Reason: "deadline"}
		if diff := cmp.Diff(want, dead, cmpopts.IgnoreFields(dead, "Seq", "At")); diff != "" {
			t.Errorf("the end (-want +got):\n%s", diff)
		}
		call(t, s, "GET", "/v1/lanes/fast-a/requests/"+id) // another look is no other end
		if got := s.Stats().Requests.Dead; got != 1 {
			t.Errorf("%d dead counted, want 1", got)
		}
	})
	t.Run("an unknown outcome, and what an operator says of it", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		die(s)
		id := call(t, s, "POST", "/v1/lanes/held-a/requests", async)
		got := happened(t, s, "held-a", console.Granted, console.Lost, console.Unknown)
		if e := got[len(got)-1]; e.ID != id || e.Ticket != got[0].Ticket {
			t.Errorf("%+v, want request %s", e, id)
		}
		call(t, s, "GET", "/v1/lanes/held-a") // says the same
		send(t, s, `{"as":"dead"}`, "POST", "/v1/lanes/held-a/requests/"+id+"/resolve")
		happened(t, s, "held-a", console.Unknown, console.Dead)
		if got := s.Journal.Count(console.Unknown); got != 1 {
			t.Errorf("told %d times that the outcome is unknown, want once", got)
		}
	})
	t.Run("a cancellation by another process, when somebody reads the request", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		call(t, s, "POST", "/v1/lanes/slow-a/requests")
		id := call(t, s, "POST", "/v1/lanes/slow-a/requests")
		if _, err := s.Parts[0].Slots.Cancel(t.Context(), bind(t, s, "slow-a"), id); err != nil {
			t.Fatal(err)
		}
		call(t, s, "GET", "/v1/lanes/slow-a/requests/"+id)
		got := happened(t, s, "slow-a", console.Done, console.Reserved, console.Cancelled)
		if e := got[len(got)-1]; e.ID != id {
			t.Errorf("%+v, want request %s", e, id)
		}
	})
	t.Run("a purge by another process, when the task comes", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		call(t, s, "POST", "/v1/lanes/fast-a/pause")
		// The deadline is why its task comes soon.
		id := call(t, s, "POST", "/v1/lanes/fast-a/requests", "Seriatim-Deadline: 2")
		happened(t, s, "fast-a", console.Snoozed)
		if _, err := s.Parts[0].Slots.Purge(t.Context(), bind(t, s, "fast-a")); err != nil {
			t.Fatal(err)
		}
		got := happened(t, s, "fast-a", console.Cancelled)
		if e := got[len(got)-1]; e.ID != id || s.Journal.Count(console.Dead) != 0 {
			t.Errorf("%+v, want request %s cancelled", e, id)
		}
	})
}
