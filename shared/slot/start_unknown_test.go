package slot_test

import (
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestStartOfAnEndedTicket(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a finished request is done, and the next head is told": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
			res := b.start(t, tasks[0])
			if res.Verdict != slot.AlreadyDone || res.Status != slot.Done || res.Durable || res.Next.Ticket != tasks[1].Ticket {
				t.Errorf("late duplicate: %+v, want DONE, not durable, next %d", res, tasks[1].Ticket)
			}
		},
		"below the head without a record it was terminal": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.finish(t, ended(b.run(t, task), "a", slot.Accept))
			b.expire(t, "a")
			if res := b.start(t, task); res.Verdict != slot.AlreadyDone || res.Status != slot.Expired || !res.Durable {
				t.Errorf("start: %+v, want DONE expired", res)
			}
		},
		"but not of another incarnation": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.finish(t, ended(b.run(t, task), "a", slot.Accept))
			b.expire(t, "a")
			task.Incarnation--
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
		},
		"nor when it was voided": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a", "b")[0]
			b.void(t, "a", task.Ticket, true)
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
		},
		"nor when its number was skipped by a repair": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.finish(t, ended(b.run(t, task), "a", slot.Accept))
			b.store = slot.New(b.clock, slot.Fixed{Number: 2}, nil)
			lost := task
			lost.Ticket, lost.Request = task.Ticket+1, "issued in the lost milliseconds"
			wantVerdict(t, b.start(t, lost).Verdict, slot.UnknownTicket)
			b.queued(t, "b") // the repair is kept
			wantVerdict(t, b.start(t, lost).Verdict, slot.UnknownTicket)
		},
		"a ticket never issued, and one of a lane that is gone, are unknown": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			never := task
			never.Ticket, never.Request = task.Ticket+7, "never"
			wantVerdict(t, b.start(t, never).Verdict, slot.UnknownTicket)
			if err := b.rdb.Del(t.Context(), slot.KeysOf(b.lane.Key).State()).Err(); err != nil {
				t.Fatal(err)
			}
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
		},
		"a task whose request has another ticket by now is unknown": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			b.void(t, "a", old.Ticket, true)
			again := b.queued(t, "a")[0]
			wantVerdict(t, b.start(t, old).Verdict, slot.UnknownTicket)
			b.finish(t, ended(b.run(t, again), "a", slot.Accept))
			wantVerdict(t, b.start(t, old).Verdict, slot.AlreadyDone)
		},
		"a purged ticket is cancelled, and a second delivery finds it so": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b", "c")
			b.write(t, "mark", tasks[1].Ticket+1, "u", tasks[1].Ticket+1)
			for range 2 {
				if res := b.start(t, tasks[0]); res.Verdict != slot.AlreadyDone || res.Status != slot.Cancelled {
					t.Errorf("purged: %+v, want DONE cancelled", res)
				}
			}
			b.expire(t, "b")
			if res := b.start(t, tasks[1]); res.Verdict != slot.AlreadyDone || res.Status != slot.Cancelled {
				t.Errorf("purged without a record: %+v, want DONE cancelled", res)
			}
			b.run(t, tasks[2])
		},
		"a purged ticket with a live lease runs to its end": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			g := b.run(t, task)
			b.write(t, "mark", task.Ticket+1, "u", task.Ticket+1)
			if again := b.run(t, task); again != g {
				t.Errorf("resend: %+v, want %+v", again, g)
			}
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
		},
	})
}

func TestStartToDriveAnother(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a runnable head is driven under its own record": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			state, _ := b.inspect(t, "")
			g := b.run(t, drive(state.Next))
			if g.Ticket != task.Ticket {
				t.Fatalf("drove %d, want %d", g.Ticket, task.Ticket)
			}
			wantVerdict(t, b.reserve(t, ingest("a")).Verdict, slot.Reserved) // the record still says whose it is
			b.finish(t, slot.FinishRequest{Grant: g, Request: "a", Outcome: slot.Accept, Jitter: 1})
			_, req := b.inspect(t, "a")
			if req.Status != slot.Done || req.Record.Attempts != 1 || req.Started.IsZero() {
				t.Errorf("record %+v, want done after one attempt", req.Record)
			}
		},
		"the same drive again gets the same grant, another nothing": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			state, _ := b.inspect(t, "")
			req := drive(state.Next)
			g := b.run(t, req)
			if again := b.run(t, req); again != g {
				t.Errorf("resend: %+v, want %+v", again, g)
			}
			req.Owner = "another driver"
			wantVerdict(t, b.start(t, req).Verdict, slot.Gone)
		},
		"what is no head, not due, of another request, or on a held lane is not driven": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			second := slot.Head{Ticket: tasks[1].Ticket, Request: "b"}
			wantVerdict(t, b.start(t, drive(second)).Verdict, slot.Gone)
			wantVerdict(t, b.start(t, drive(slot.Head{Ticket: tasks[0].Ticket, Request: "b"})).Verdict, slot.Gone)
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
			wantVerdict(t, b.start(t, drive(second)).Verdict, slot.Gone) // within the spacing
			b.clock.Advance(b.lane.Spacing)
			b.write(t, "paused", 1)
			wantVerdict(t, b.start(t, drive(second)).Verdict, slot.Gone)
			b.write(t, "paused", 0)
			b.run(t, drive(second))
		},
		"a drive never claims, waits or snoozes": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.clock.Advance(5 * time.Second)
			b.start(t, drive(slot.Head{Ticket: tasks[1].Ticket, Request: "b"}))
			if res := b.start(t, tasks[1]); !res.Overdue {
				t.Error("the claim on the overdue head was taken by who drove another ticket")
			}
		},
		"a found task confirms its ticket even when it may not start": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			b.start(t, drive(slot.Head{Ticket: tasks[1].Ticket, Request: "b"}))
			b.clock.Advance(slot.ConfirmWithin + time.Millisecond)
			wantVerdict(t, b.void(t, "b", tasks[1].Ticket, false), slot.Kept)
			wantVerdict(t, b.void(t, "a", tasks[0].Ticket, false), slot.Voided)
		},
	})
}
