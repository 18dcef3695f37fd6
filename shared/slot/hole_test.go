package slot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
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
		"attempts go on counting under the next place, with all of them left": func(t *testing.T, b *bundle) {
			b.lane.Attempts = 1
			g := b.immediate(t, "a")
			b.clock.Advance(slot.ConfirmWithin + b.lane.Lease)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Voided)
			req := ingest("a")
			req.Immediate = true
			for range 2 { // a resend
				res := b.reserve(t, req)
				if res.Verdict != slot.Run || res.Grant.Attempt != 2 {
					t.Errorf("again: %s, attempt %d; want it to run as the second", res.Verdict, res.Grant.Attempt)
				}
			}
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
		"a look from before a retry proves nothing about the task that the retry made": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			stale, _ := b.inspect(t, "") // past the deadline: a driver asks the queue, which has no task, and falls asleep
			end := ended(g, "a", slot.Retry)
			end.K = -1
			b.finish(t, end) // ingest creates the task, and acknowledges by its age alone
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			if res, err := b.store.VoidHead(t.Context(), b.lane, stale.Next); err != nil || res.Verdict != slot.Kept {
				t.Errorf("void by the old look: %s, %v, want KEPT", res.Verdict, err)
			}
			fresh, _ := b.inspect(t, "")
			if res, err := b.store.VoidHead(t.Context(), b.lane, fresh.Next); err != nil || res.Verdict != slot.Voided {
				t.Errorf("void by a new look: %s, %v, want VOIDED", res.Verdict, err)
			}
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

// TestVoidedTicketsAreBounded has an outage of the queue, in which every arrival is voided at once, on a lane that never ends.
func TestVoidedTicketsAreBounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb)
		b.store = slot.New(slottest.NewClock(rdb, slottest.Edit{Old: "local VOIDED = 10000", New: "local VOIDED = 3"}), slot.First, nil)
		tasks := b.queued(t, many(6)...)
		for _, task := range tasks[:5] {
			wantVerdict(t, b.void(t, task.Request, task.Ticket, true), slot.Voided)
		}
		var want []string
		for _, task := range tasks[2:5] {
			want = append(want, fmt.Sprint(task.Ticket))
		}
		if diff := cmp.Diff(want, rdb.ZRange(t.Context(), slot.KeysOf(b.lane.Key).Voided(), 0, -1).Val()); diff != "" {
			t.Errorf("voided tickets (-want +got):\n%s", diff)
		}
		wantVerdict(t, b.start(t, tasks[2]).Verdict, slot.UnknownTicket)
		b.run(t, tasks[5])
	})
}
