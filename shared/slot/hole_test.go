package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestConfirmAndVoid(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"an unconfirmed ticket is given up past its deadline, not at it": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.clock.Advance(slot.ConfirmWithin)
			wantVerdict(t, b.void(t, "a", tasks[0].Ticket, false), slot.Kept)
			b.clock.Advance(time.Millisecond)
			wantVerdict(t, b.void(t, "a", tasks[0].Ticket, false), slot.Voided)
			wantVerdict(t, b.void(t, "a", tasks[0].Ticket, false), slot.Voided) // a resend
			b.run(t, tasks[1])
		},
		"at once its reserver may give it up": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			wantVerdict(t, b.void(t, "a", task.Ticket, true), slot.Voided)
		},
		"a confirmed ticket is never given up": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			if !b.confirm(t, task) || !b.confirm(t, task) {
				t.Fatal("confirm refused")
			}
			b.clock.Advance(time.Hour)
			wantVerdict(t, b.void(t, "a", task.Ticket, false), slot.Kept)
			wantVerdict(t, b.void(t, "a", task.Ticket, true), slot.Kept)
		},
		"a started task confirms its ticket, though it only waits or snoozes": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.run(t, tasks[0])
			tasks[1].Left = -1
			b.start(t, tasks[1])
			b.clock.Advance(time.Hour)
			wantVerdict(t, b.void(t, "b", tasks[1].Ticket, false), slot.Kept)
		},
		"a live lease is never given up": func(t *testing.T, b *bundle) {
			b.lane.Lease = time.Minute
			g := b.immediate(t, "a")
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Kept)
			wantVerdict(t, b.void(t, "a", g.Ticket, true), slot.Kept)
			b.clock.Advance(time.Minute)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Voided)
		},
		"the fast path counts its deadline from its last attempt": func(t *testing.T, b *bundle) {
			b.lane.Lease = 5 * time.Minute
			g := b.immediate(t, "a")
			b.clock.Advance(2 * time.Minute) // a long handler: past the first deadline
			end := ended(g, "a", slot.Retry)
			end.K = -1
			b.finish(t, end)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Kept)
			b.clock.Advance(slot.ConfirmWithin + time.Millisecond)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Voided)
		},
		"another request, an unknown ticket and a lane that is gone have nothing to give up": func(t *testing.T, b *bundle) {
			wantVerdict(t, b.void(t, "a", 1, true), slot.Kept)
			task := b.queued(t, "a")[0]
			wantVerdict(t, b.void(t, "b", task.Ticket, true), slot.Kept)
			wantVerdict(t, b.void(t, "a", task.Ticket+1, true), slot.Kept)
		},
		"confirm comes too late after void, and for another life of the lane": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.void(t, "a", tasks[0].Ticket, true)
			if b.confirm(t, tasks[0]) {
				t.Error("a voided ticket was confirmed")
			}
			tasks[1].Incarnation++
			if b.confirm(t, tasks[1]) {
				t.Error("a ticket of another incarnation was confirmed")
			}
		},
		"confirm of a finished request is fine": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.finish(t, ended(b.run(t, task), "a", slot.Accept))
			if !b.confirm(t, task) {
				t.Error("refused")
			}
		},
		"tickets given up in the middle are passed over, in slots and in turns": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, many(6)...)
			for _, i := range []int{1, 2, 4} {
				wantVerdict(t, b.void(t, tasks[i].Request, tasks[i].Ticket, true), slot.Voided)
			}
			if res := b.reserve(t, ingest("last")); res.Position != 4 {
				t.Errorf("position %d, want 4: three were given up", res.Position)
			}
			for _, i := range []int{0, 3, 5} {
				b.finish(t, ended(b.run(t, tasks[i]), tasks[i].Request, slot.Accept))
			}
			if state, _ := b.inspect(t, ""); state.Depth != 1 {
				t.Errorf("depth %d, want 1", state.Depth)
			}
			if n := b.rdb.ZCard(t.Context(), slot.KeysOf(b.lane.Key).Resolved()).Val(); n != 0 {
				t.Errorf("%d tickets are still listed as resolved ahead of their turn", n)
			}
		},
	})
}

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
		res, err := b.store.Settle(t.Context(), b.lane, h, status, []byte("kept"))
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
			if res.Verdict != slot.Replayed || !res.Record.Durable || string(res.Record.Response) != "kept" {
				t.Errorf("replay: %+v, want the durable record", res)
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
