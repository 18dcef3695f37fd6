package slot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func (b *bundle) pause(t *testing.T, hold bool) slot.Seen {
	t.Helper()
	seen, err := b.store.Pause(t.Context(), b.lane, hold)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func (b *bundle) purge(t *testing.T) int64 {
	t.Helper()
	p, err := b.store.Purge(t.Context(), b.lane)
	if err != nil {
		t.Fatal(err)
	}
	return p.Requests
}

func (b *bundle) cancel(t *testing.T, id string) slot.Cancelling {
	t.Helper()
	c, err := b.store.Cancel(t.Context(), b.lane, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPause(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a held lane starts nothing, and goes on where it stood": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			b.pause(t, true)
			// What runs goes on to its end; what comes next snoozes, ten minutes and more.
			b.finish(t, ended(g, "a", slot.Accept))
			b.clock.Advance(b.lane.Spacing)
			res := b.start(t, tasks[1])
			wantVerdict(t, res.Verdict, slot.Snoozed)
			if res.Reason != "paused" || res.At < after(b.clock.Now(), slot.InlineWait) {
				t.Errorf("snoozed to %d because %q, want minutes later because paused", res.At, res.Reason)
			}
			if state, _ := b.inspect(t, "b"); !state.Paused || state.Next.At != 0 {
				t.Errorf("state %+v, want paused", state)
			}
			if seen := b.pause(t, false); seen.Next.Request != "b" || seen.Next.At != b.clock.Now() {
				t.Errorf("after resume the head is %+v, want b at once", seen.Next)
			}
			b.run(t, drive(slot.Head{Ticket: tasks[1].Ticket, Request: "b"}))
		},
		"a lane that has seen nothing yet is held too": func(t *testing.T, b *bundle) {
			b.pause(t, true)
			req := ingest("a")
			req.Immediate = true
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Reserved)
		},
		"resuming a lane that is unknown makes none": func(t *testing.T, b *bundle) {
			b.pause(t, false)
			if dump := b.dump(t); len(dump) != 0 {
				t.Errorf("keys %v, want none", dump)
			}
		},
		"repeated, it says the same": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			for _, hold := range []bool{true, false} {
				first := b.pause(t, hold)
				before := b.dump(t)
				if again := b.pause(t, hold); again != first {
					t.Errorf("again: %+v, want %+v", again, first)
				}
				if diff := cmp.Diff(before, b.dump(t)); diff != "" {
					t.Errorf("state (-once +twice):\n%s", diff)
				}
			}
		},
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a waiting request leaves the lane, and its task finds it cancelled": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b", "c")
			wantVerdict(t, b.cancel(t, "b").Verdict, slot.OK)
			res := b.start(t, tasks[1])
			if res.Verdict != slot.AlreadyDone || res.Status != slot.Cancelled {
				t.Errorf("its task: %s %s, want DONE cancelled", res.Verdict, res.Status)
			}
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
			b.clock.Advance(b.lane.Spacing)
			b.run(t, tasks[2])
		},
		"a call that was on its way takes no place again, nor does its task; the client's next call does": func(t *testing.T, b *bundle) {
			req := ingest("a")
			task := b.queued(t, "a")[0]
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.OK)
			again := b.reserve(t, req)
			adopted := ingest("a")
			adopted.Owner, adopted.Adopt, adopted.Ticket = "executor", true, task.Ticket
			for what, res := range map[string]slot.Reservation{"sent again": again, "adopted": b.reserve(t, adopted)} {
				if res.Verdict != slot.Replayed || res.Record.Status != slot.Cancelled {
					t.Errorf("%s: %s %+v, want REPLAY, cancelled", what, res.Verdict, res.Record)
				}
			}
			req.Owner = "another call"
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Reserved)
		},
		"the head's place goes to the next": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			if c := b.cancel(t, "a"); c.Next.Ticket != tasks[1].Ticket || c.Next.At == 0 {
				t.Errorf("next is %+v, want b, runnable", c.Next)
			}
			b.run(t, tasks[1])
		},
		"a head that waits for its next attempt can be cancelled": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.finish(t, ended(b.run(t, task), "a", slot.Retry))
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.OK)
			if state, _ := b.inspect(t, ""); state.Depth != 0 {
				t.Errorf("depth %d, want 0", state.Depth)
			}
		},
		"what runs, has ended or is unknown is not cancelled": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.StillRunning)
			b.finish(t, ended(g, "a", slot.Accept))
			if c := b.cancel(t, "a"); c.Verdict != slot.AlreadyFinished || c.Status != slot.Done {
				t.Errorf("finished: %s %s, want FINISHED done", c.Verdict, c.Status)
			}
			wantVerdict(t, b.cancel(t, "never").Verdict, slot.None)
		},
		"the id is free again, under a new ticket": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.cancel(t, "a")
			other := ingest("a")
			other.Fingerprint, other.Owner = "another", "another call"
			res := b.reserve(t, other)
			if res.Verdict != slot.Reserved || res.Ticket <= task.Ticket {
				t.Errorf("again: %s ticket %d, want OK above %d", res.Verdict, res.Ticket, task.Ticket)
			}
			// The first one's task is not the second one's.
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
		},
		"repeated, it says the same": func(t *testing.T, b *bundle) {
			b.queued(t, "a", "b")
			b.cancel(t, "a")
			before := b.dump(t)
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.OK)
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-once +twice):\n%s", diff)
			}
		},
	})
}

func TestPurge(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"all that waits is cancelled, and what runs goes on": func(t *testing.T, b *bundle) {
			b.lane.Concurrency = 2
			tasks := b.queued(t, "runs", "retries", "waits", "cancelled", "last")
			g := b.run(t, tasks[0])
			b.clock.Advance(b.lane.Spacing)
			b.finish(t, ended(b.run(t, tasks[1]), "retries", slot.Retry))
			b.cancel(t, "cancelled")
			if n := b.purge(t); n != 3 {
				t.Errorf("purged %d, want 3", n)
			}
			for _, task := range tasks[1:] {
				res := b.start(t, task)
				if res.Verdict != slot.AlreadyDone || res.Status != slot.Cancelled {
					t.Errorf("task of %s: %s %s, want DONE cancelled", task.Request, res.Verdict, res.Status)
				}
			}
			if f := b.finish(t, ended(g, "runs", slot.Accept)); f.Verdict != slot.OK {
				t.Errorf("what ran: %s, want OK", f.Verdict)
			}
			if state, _ := b.inspect(t, ""); state.Depth != 0 || state.Next.Ticket != 0 {
				t.Errorf("state %+v, want empty", state)
			}
			// What comes after the purge runs.
			b.clock.Advance(b.lane.BackoffMax)
			b.run(t, b.queued(t, "next")[0])
		},
		"a purged request is shown as cancelled, and its id is free": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			b.purge(t)
			if _, req := b.inspect(t, "a"); req.Status != slot.Cancelled || req.Open {
				t.Errorf("request %+v, want cancelled", req)
			}
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.OK)
			again := ingest("a")
			again.Owner = "another call"
			wantVerdict(t, b.reserve(t, again).Verdict, slot.Reserved)
		},
		"a run whose lease lapsed before the purge may still end": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			g := b.run(t, task)
			b.clock.Advance(b.lane.Lease)
			b.purge(t)
			if f := b.finish(t, ended(g, "a", slot.Accept)); f.Verdict != slot.Lost {
				t.Errorf("late finish: %s, want LOST", f.Verdict)
			}
		},
		"repeated, nothing is left to purge": func(t *testing.T, b *bundle) {
			b.queued(t, "a", "b")
			b.purge(t)
			before := b.dump(t)
			if n := b.purge(t); n != 0 {
				t.Errorf("purged %d again", n)
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-once +twice):\n%s", diff)
			}
		},
	})
}

func TestSteeringTakesConstantWork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // only a real Redis counts the commands inside scripts
	cost := func(waiting int) map[string]int {
		b := setup(t, server.Client())
		b.clock.After = func() {}
		b.lane.Key += many(waiting + 1)[waiting]
		b.queued(t, "a", "b", "c")
		b.fill(t, waiting)
		out := map[string]int{}
		count := func(name string, call func()) {
			before := b.commands(t)
			call()
			out[name] = b.commands(t) - before
		}
		count("pause", func() { b.pause(t, true) })
		count("cancel", func() { b.cancel(t, "b") })
		count("purge", func() { b.purge(t) })
		return out
	}
	if diff := cmp.Diff(cost(100), cost(10000)); diff != "" {
		t.Errorf("commands (-100 waiting +10,000 waiting):\n%s", diff)
	}
}
