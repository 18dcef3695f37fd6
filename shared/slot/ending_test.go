package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
)

func (b *bundle) ending(t *testing.T, req slot.FinishRequest) slot.Ending {
	t.Helper()
	e, err := b.store.Ending(t.Context(), b.lane, req)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEnding(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"it tells what finish then does": func(t *testing.T, b *bundle) {
			for id, outcome := range map[string]slot.Outcome{"a": slot.Accept, "b": slot.GiveUp} {
				b.lane.Key = "lane of " + id + " of " + t.Name()
				req := ended(b.immediate(t, id), id, outcome)
				req.Response, req.Reason, req.Detail = []byte("r"), "status", "d"
				e := b.ending(t, req)
				f := b.finish(t, req)
				if diff := cmp.Diff(f.Record, e.Record); diff != "" || !e.Ends() || e.Outcome != outcome {
					t.Errorf("%s: %s, record (-finish +ending):\n%s", outcome, e.Outcome, diff)
				}
				if e := b.ending(t, req); e.Verdict != slot.AlreadyDone || e.Ends() {
					t.Errorf("%s: then %+v, want DONE", outcome, e)
				}
			}
		},
		"a retry ends a request without attempts left, or too old, and no other": func(t *testing.T, b *bundle) {
			req := ended(b.immediate(t, "a"), "a", slot.Retry)
			wantEnding := func(what string, reason string) {
				t.Helper()
				e := b.ending(t, req)
				if e.Ends() != (reason != "") || e.Record.Reason != reason {
					t.Errorf("%s: %+v, want reason %q", what, e, reason)
				}
			}
			wantEnding("two attempts left", "")
			b.lane.Attempts = 1
			wantEnding("none left", "attempts")
			req.Counts = false
			wantEnding("one that does not count", "")
			b.lane.MaxAge = 0
			wantEnding("too old", "max-age")
			b.lane.Park = true
			if e := b.ending(t, req); e.Outcome != slot.Parked || e.Ends() {
				t.Errorf("on a lane that parks: %+v, want it parked", e)
			}
		},
		"it renews a lease, and revives none": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			req := ended(g, "a", slot.Accept)
			b.clock.Advance(b.lane.Lease - time.Millisecond)
			b.ending(t, req)
			b.clock.Advance(b.lane.Lease - time.Millisecond)
			if _, ok, err := b.store.Renew(t.Context(), b.lane, g); err != nil || !ok {
				t.Errorf("renewed %t, %v; want the lease alive", ok, err)
			}
			b.clock.Advance(b.lane.Lease)
			if e := b.ending(t, req); !e.Ends() { // nobody else has it yet
				t.Errorf("%+v, want OK", e)
			}
			if _, ok, _ := b.store.Renew(t.Context(), b.lane, g); ok {
				t.Error("the lease was revived")
			}
		},
		"it is told whose the lease is": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			g := b.run(t, task)
			b.clock.Advance(b.lane.Lease)
			task.Owner = "another"
			next := b.run(t, task)
			wantVerdict(t, b.ending(t, ended(g, "a", slot.Accept)).Verdict, slot.Lost)
			b.finish(t, ended(next, "a", slot.Retry))
			wantVerdict(t, b.ending(t, ended(next, "a", slot.Retry)).Verdict, slot.AlreadyDone)
			wantVerdict(t, b.ending(t, ended(next, "unknown", slot.Accept)).Verdict, slot.Lost)
		},
		"a voided ticket whose handler finished after all may end": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(b.lane.Lease + slot.ConfirmWithin)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Voided)
			if e := b.ending(t, ended(g, "a", slot.Accept)); !e.Ends() || e.Record.Status != slot.Done {
				t.Errorf("%+v, want OK", e)
			}
			wantVerdict(t, b.ending(t, ended(g, "a", slot.GiveUp)).Verdict, slot.Lost)
		},
	})
}
