package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestStartOfTheHead(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"the head of a due lane runs, and the next head is told": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			res := b.start(t, tasks[0])
			now := b.clock.Now()
			want := slot.Grant{Ticket: tasks[0].Ticket, Fence: now*1000 + 1, Expiry: after(now, b.lane.Lease), Attempt: 1, Owner: "executor-a"}
			if diff := cmp.Diff(want, res.Grant); diff != "" {
				t.Errorf("grant (-want +got):\n%s", diff)
			}
			if n := res.Next; n.Ticket != tasks[1].Ticket || n.Request != "b" || n.At != 0 || n.Here || !n.Unconfirmed() {
				t.Errorf("next %+v, want b, away, unconfirmed, with no start while a runs", n)
			}
		},
		"the same delivery again gets the same grant": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			first := b.start(t, task)
			if diff := cmp.Diff(first, b.start(t, task)); diff != "" {
				t.Errorf("resent (-first +again):\n%s", diff)
			}
		},
		"another delivery of a running ticket waits, and the last of its wait is a snooze by the age of the run": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			g := b.run(t, task)
			twin := task
			twin.Owner = "twin"
			if res := b.start(t, twin); res.Verdict != slot.Wait || res.Reason != "busy" || res.Until != g.Expiry {
				t.Errorf("twin: %+v, want WAIT busy until %d", res, g.Expiry)
			}
			twin.Left = 0
			if res := b.start(t, twin); res.Verdict != slot.Snoozed || res.Reason != "busy" || res.At != after(b.clock.Now(), 5*time.Second) {
				t.Errorf("twin of a young run: %+v, want SNOOZE by 5 s", res)
			}
			b.clock.Advance(4 * time.Second)
			if _, ok, err := b.store.Renew(t.Context(), b.lane, g); !ok || err != nil {
				t.Fatalf("renew of a live lease: %t, %v", ok, err)
			}
			b.clock.Advance(3 * time.Second)
			if res := b.start(t, twin); res.At != after(b.clock.Now(), 7*time.Second) {
				t.Errorf("twin of a run of 7 s: at %d, want %d", res.At, after(b.clock.Now(), 7*time.Second))
			}
		},
		"a long run does not push its twin beyond 10 minutes": func(t *testing.T, b *bundle) {
			b.lane.Lease = time.Hour
			task := b.queued(t, "a")[0]
			b.run(t, task)
			b.clock.Advance(50 * time.Minute)
			twin := task
			twin.Owner, twin.Left = "twin", -1
			if res := b.start(t, twin); res.At != after(b.clock.Now(), 10*time.Minute) {
				t.Errorf("twin: %+v, want a snooze by 10 minutes", res)
			}
		},
		"a lapsed lease is taken over with a higher fence, by its old owner too": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			first := b.run(t, task)
			b.clock.Advance(b.lane.Lease)
			second := b.run(t, task)
			if second.Fence <= first.Fence || second.Attempt != 2 {
				t.Errorf("second grant %+v after %+v, want a higher fence and attempt 2", second, first)
			}
			wantVerdict(t, b.finish(t, ended(first, "a", slot.Accept)).Verdict, slot.Lost)
			wantVerdict(t, b.finish(t, ended(second, "a", slot.Accept)).Verdict, slot.OK)
		},
		"an early head waits for its pace and starts at that very millisecond": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			task := b.queued(t, "b")[0]
			res := b.start(t, task)
			if want := after(b.clock.Now(), b.lane.Spacing); res.Verdict != slot.Wait || res.Reason != "pace" || res.Until != want {
				t.Fatalf("early head: %+v, want WAIT pace until %d", res, want)
			}
			b.clock.Advance(b.lane.Spacing - time.Millisecond)
			wantVerdict(t, b.start(t, task).Verdict, slot.Wait)
			b.clock.Advance(time.Millisecond)
			wantVerdict(t, b.start(t, task).Verdict, slot.Run)
		},
		"waiting and snoozing take neither pace nor lease nor attempt": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			task := b.queued(t, "b")[0]
			b.start(t, task)
			before, _ := b.inspect(t, "b")
			for range 5 {
				task.Left = -task.Left
				b.start(t, task)
			}
			after, _ := b.inspect(t, "b")
			if before.Gate != after.Gate || after.HeadAttempts != 0 || len(after.Running) != 0 {
				t.Errorf("after waits: %+v, want gate %d and nothing taken", after, before.Gate)
			}
		},
	})
}

func TestStartBehindTheHead(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"the second waits while the first runs": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			if res := b.start(t, tasks[1]); res.Verdict != slot.Wait || res.Reason != "full" || res.Until != g.Expiry || res.Rank != 0 {
				t.Errorf("second: %+v, want WAIT full, rank 0, until the lease may end at %d", res, g.Expiry)
			}
		},
		"who is far from its slot snoozes, and the count and the schedule are recorded before any task is": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, many(14)...)
			b.run(t, tasks[0])
			last := tasks[len(tasks)-1]
			res := b.start(t, last)
			if res.Verdict != slot.Snoozed || res.Reason != "rank" || res.K != 1 || res.At < after(b.clock.Now(), time.Second) {
				t.Fatalf("last: %+v, want SNOOZE rank, k 1, at least a second ahead", res)
			}
			last.K = 1
			if res := b.start(t, last); res.K != 2 {
				t.Errorf("second snooze: k %d, want 2", res.K)
			}
			last.K = 0 // a late duplicate of the first task
			if res := b.start(t, last); res.Verdict != slot.Snoozed || res.K != 2 {
				t.Errorf("late duplicate: %+v, want SNOOZE with k still 2", res)
			}
		},
		"k and schedule of the head are told to who would drive it": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			tasks[0].Left = -1
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
			tasks[1].Left = -1
			res := b.start(t, tasks[1])
			wantVerdict(t, res.Verdict, slot.Snoozed)
			if n := res.Next; n.Ticket != tasks[1].Ticket || n.K != res.K || n.Due != res.At || n.Here {
				t.Errorf("next %+v, want k %d due %d, away", n, res.K, res.At)
			}
		},
		"no more wait inline than the lane can start within the wait": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.MaxDepth = 0, 1000
			tasks := b.queued(t, many(13)...)
			b.run(t, tasks[0])
			// Nothing is learned, so a start takes a guessed second: ten in the inline wait, and one for the concurrency.
			wantVerdict(t, b.start(t, tasks[11]).Verdict, slot.Wait)
			wantVerdict(t, b.start(t, tasks[12]).Verdict, slot.Snoozed)
		},
		"however fast a lane is, 32 and its concurrency wait inline": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.MaxDepth = 0, 1000
			b.immediate(t, "first")
			b.write(t, "isi", 1000) // a millisecond from start to start
			tasks := b.queued(t, many(40)...)
			wantVerdict(t, b.start(t, tasks[32]).Verdict, slot.Wait)
			wantVerdict(t, b.start(t, tasks[33]).Verdict, slot.Snoozed)
		},
		"a lapsed head is overtaken by nobody": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.Concurrency = 0, 3
			tasks := b.queued(t, "a", "b", "c")
			b.run(t, tasks[0])
			b.run(t, tasks[1])
			b.clock.Advance(b.lane.Lease) // both executors have died
			if res := b.start(t, tasks[2]); res.Verdict == slot.Run || res.Rank != 2 || res.Next.Ticket != tasks[0].Ticket {
				t.Errorf("third: %+v, want it to wait behind two lapsed tickets", res)
			}
			if res := b.start(t, tasks[1]); res.Verdict == slot.Run {
				t.Errorf("second runs before the first was taken over")
			}
			b.run(t, tasks[0])
			b.run(t, tasks[1])
			b.run(t, tasks[2])
		},
		"a head in backoff holds the lane": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b")
			res := b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Retry))
			if got := b.start(t, tasks[1]); got.Verdict != slot.Wait || got.Until < res.At {
				t.Errorf("second: %+v, want WAIT until %d at least", got, res.At)
			}
			b.clock.Advance(time.Duration(res.At-b.clock.Now()) * time.Millisecond)
			b.run(t, tasks[0])
		},
	})
}
