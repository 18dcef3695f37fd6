package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestMissingTask(t *testing.T) {
	t.Parallel()
	missing := func(t *testing.T, b *bundle, h slot.Head) slot.Looked {
		t.Helper()
		h.Seen = b.clock.Now()
		res, err := b.store.Missing(t.Context(), b.lane, h)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	settle := func(t *testing.T, b *bundle, h slot.Head, status slot.Status) slot.Verdict {
		t.Helper()
		h.Seen = b.clock.Now()
		res, err := b.store.Settle(t.Context(), b.lane, h, status)
		if err != nil {
			t.Fatal(err)
		}
		return res.Verdict
	}
	confirmed := func(t *testing.T, b *bundle) (slot.StartRequest, slot.Head) {
		t.Helper()
		task := b.queued(t, "a")[0]
		b.confirm(t, task)
		state, _ := b.inspect(t, "")
		return task, state.Next
	}
	look := func(t *testing.T, b *bundle, h slot.Head) { // twice
		t.Helper()
		wantVerdict(t, missing(t, b, h).Verdict, slot.Again)
		b.clock.Advance(slot.MissingAfter)
		wantVerdict(t, missing(t, b, h).Verdict, slot.Check)
	}
	both(t, map[string]func(*testing.T, *bundle){
		"two looks 5 s apart, then the durable records decide: void": func(t *testing.T, b *bundle) {
			task, h := confirmed(t, b)
			if res := missing(t, b, h); res.Verdict != slot.Again || res.At != after(b.clock.Now(), slot.MissingAfter) {
				t.Fatalf("first look: %+v, want AGAIN in 5 s", res)
			}
			b.clock.Advance(slot.MissingAfter - time.Millisecond)
			wantVerdict(t, missing(t, b, h).Verdict, slot.Again)
			wantVerdict(t, settle(t, b, h, ""), slot.Again) // nobody may settle before the second look
			b.clock.Advance(time.Millisecond)
			wantVerdict(t, missing(t, b, h).Verdict, slot.Check)
			wantVerdict(t, settle(t, b, h, ""), slot.Voided)
			wantVerdict(t, settle(t, b, h, ""), slot.Voided)
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket) // it comes after all: adopt
			adopt := ingest("a")
			adopt.Adopt = true
			wantVerdict(t, b.reserve(t, adopt).Verdict, slot.Reserved)
		},
		"or done": func(t *testing.T, b *bundle) {
			task, h := confirmed(t, b)
			look(t, b, h)
			wantVerdict(t, settle(t, b, h, slot.Done), slot.AlreadyDone)
			wantVerdict(t, settle(t, b, h, slot.Done), slot.AlreadyDone) // a resend
			wantVerdict(t, b.start(t, task).Verdict, slot.AlreadyDone)
			res := b.reserve(t, ingest("a"))
			if res.Verdict != slot.Replayed || !res.Record.Durable || len(res.Record.Response) != 0 {
				t.Errorf("replay: %+v, want one that points to the durable record", res)
			}
		},
		"a snooze in between is another look": func(t *testing.T, b *bundle) {
			task, h := confirmed(t, b)
			missing(t, b, h)
			b.clock.Advance(slot.MissingAfter)
			b.write(t, "paused", 1)
			b.start(t, task) // it came, and snoozed
			wantVerdict(t, missing(t, b, h).Verdict, slot.Kept)
			h.K = 1
			wantVerdict(t, missing(t, b, h).Verdict, slot.Again)
		},
		"a task that was seen in between is not missing": func(t *testing.T, b *bundle) {
			task, h := confirmed(t, b)
			missing(t, b, h)
			b.clock.Advance(slot.MissingAfter)
			b.run(t, task) // it came, and its executor died
			b.clock.Advance(b.lane.Lease)
			wantVerdict(t, missing(t, b, h).Verdict, slot.Again)
		},
		"what runs, is unconfirmed, no head or gone is kept": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			state, _ := b.inspect(t, "")
			wantVerdict(t, missing(t, b, state.Next).Verdict, slot.Kept) // unconfirmed
			b.confirm(t, tasks[0])
			b.confirm(t, tasks[1])
			wantVerdict(t, missing(t, b, slot.Head{Ticket: tasks[1].Ticket, Request: "b"}).Verdict, slot.Kept)
			g := b.run(t, tasks[0])
			before := b.dump(t)
			wantVerdict(t, missing(t, b, state.Next).Verdict, slot.Kept) // runs
			b.finish(t, ended(g, "a", slot.Accept))
			wantVerdict(t, missing(t, b, state.Next).Verdict, slot.Kept) // finished
			wantVerdict(t, settle(t, b, state.Next, ""), slot.Kept)
			if diff := cmp.Diff(before["v"], b.dump(t)["v"]); diff != "" {
				t.Errorf("voided (-before +after):\n%s", diff)
			}
		},
	})
}

func TestMissingHeadsOfAMinute(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"voiding stops past the limit, over all lanes, until the next minute": func(t *testing.T, b *bundle) {
			minute := time.UnixMilli(b.clock.Now()).Truncate(time.Minute)
			for i := range slot.MissingLimit + 2 {
				goOn, err := slot.CountMissing(t.Context(), b.rdb, minute.Add(time.Duration(i)*time.Second))
				if want := i < slot.MissingLimit; err != nil || goOn != want {
					t.Errorf("missing head %d: go on %t, %v, want %t", i+1, goOn, err, want)
				}
			}
			if n, err := slot.MissingCount(t.Context(), b.rdb, minute); err != nil || n != slot.MissingLimit+2 {
				t.Errorf("counted %d, %v, want %d", n, err, slot.MissingLimit+2)
			}
			if n, err := slot.MissingCount(t.Context(), b.rdb, minute.Add(time.Minute)); err != nil || n != 0 {
				t.Errorf("counted %d, %v in the next minute, want 0", n, err)
			}
			key := "seriatim-missing:{" + minute.UTC().Format("200601021504") + "}"
			if ttl := b.rdb.TTL(t.Context(), key).Val(); ttl <= 0 || ttl > 2*time.Minute {
				t.Errorf("the counter lives %v, want two minutes", ttl)
			}
		},
	})
}
