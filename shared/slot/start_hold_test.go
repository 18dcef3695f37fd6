package slot_test

import (
	"context"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestStartOnAHeldLane(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a lane that stands sends even the head to sleep, twice as long each time, to an hour": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			for _, reason := range []slot.Standing{slot.StandsPaused, slot.StandsTargetPaused} {
				b.pause(t, reason == slot.StandsPaused)
				b.store.Paused = func(context.Context) ([]string, error) { return []string{"other", "shop"}, nil }
				for k, want := range map[int]time.Duration{0: 10 * time.Minute, 1: 20 * time.Minute, 2: 40 * time.Minute, 3: time.Hour, 99: time.Hour} {
					task.K = k
					if res := b.start(t, task); res.Verdict != slot.Snoozed || res.Reason != string(reason) || res.At != after(b.clock.Now(), want) {
						t.Errorf("k %d: %+v, want SNOOZE %s by %v", k, res, reason, want)
					}
				}
			}
			state, _ := b.inspect(t, "")
			if state.Next.Here || state.Next.At != 0 {
				t.Errorf("next of a lane that stands: %+v, want it away and with no start", state.Next)
			}
		},
		"jitter spreads the snoozes of a paused lane": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.write(t, "paused", 1)
			task.Jitter = 0.9
			if res := b.start(t, task); res.At != after(b.clock.Now(), 9*time.Minute) {
				t.Errorf("at %d, want %d", res.At, after(b.clock.Now(), 9*time.Minute))
			}
		},
		"a pause stops no run": func(t *testing.T, b *bundle) {
			g := b.run(t, b.queued(t, "a")[0])
			b.write(t, "paused", 1)
			if _, ok, err := b.store.Renew(t.Context(), b.lane, g); !ok || err != nil {
				t.Errorf("renew: %t, %v", ok, err)
			}
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
		},
		"a quarantine is a gate: nothing starts before its end, everything after": func(t *testing.T, b *bundle) {
			end := after(b.clock.Now(), 40*time.Second)
			b.store = slot.New(b.clock, slot.Fixed{Number: 1, QuarantineUntil: end}, nil)
			req := ingest("a")
			req.Immediate = true
			if res := b.reserve(t, req); res.Verdict != slot.Reserved || res.Slot != end {
				t.Errorf("reserve: %+v, want OK with its slot at the end of the quarantine, %d", res, end)
			}
			task := b.queued(t, "a")[0]
			if res := b.start(t, task); res.Verdict != slot.Snoozed || res.At < end-3000 || res.At > end {
				t.Errorf("start: %+v, want SNOOZE by a lead before %d", res, end)
			}
			b.clock.Advance(35 * time.Second)
			if res := b.start(t, task); res.Verdict != slot.Wait || res.Until != end {
				t.Errorf("start 5 s before: %+v, want WAIT until %d", res, end)
			}
			b.clock.Advance(5 * time.Second)
			b.run(t, task)
		},
	})
}

func TestStartSaysWhoIsOverdue(t *testing.T) {
	t.Parallel()
	behind := func(t *testing.T, b *bundle) (head, waiter slot.StartRequest) {
		b.lane.Spacing = 0
		b.finish(t, ended(b.immediate(t, "first"), "first", slot.Accept))
		b.immediate(t, "blocker")
		tasks := b.queued(t, "a", "b", "c")
		return tasks[0], tasks[1]
	}
	free := func(t *testing.T, b *bundle) {
		b.finish(t, slot.FinishRequest{Grant: b.immediate(t, "blocker"), Request: "blocker", Outcome: slot.Accept, Jitter: 1})
	}
	both(t, map[string]func(*testing.T, *bundle){
		"a head that is away is overdue after 50 ms, and one waiter has the claim": func(t *testing.T, b *bundle) {
			head, waiter := behind(t, b)
			free(t, b)
			b.clock.Advance(49 * time.Millisecond)
			if b.start(t, waiter).Overdue {
				t.Error("overdue within 50 ms")
			}
			b.clock.Advance(52 * time.Millisecond) // past the tolerance of its schedule too
			if res := b.start(t, waiter); !res.Overdue || res.Next.Ticket != head.Ticket {
				t.Fatalf("waiter: %+v, want overdue, next %d", res, head.Ticket)
			}
			if !b.start(t, waiter).Overdue {
				t.Error("a resend of the claim is refused it")
			}
			third := waiter
			third.Owner = "another"
			if b.start(t, third).Overdue {
				t.Error("two waiters have the claim")
			}
			b.clock.Advance(2 * time.Second)
			if !b.start(t, third).Overdue {
				t.Error("a claim of 2 s ago still stands")
			}
		},
		"a head that waits here has a second": func(t *testing.T, b *bundle) {
			head, waiter := behind(t, b)
			b.start(t, head)
			free(t, b)
			b.clock.Advance(999 * time.Millisecond)
			if b.start(t, waiter).Overdue {
				t.Error("overdue within the grace")
			}
			b.clock.Advance(time.Millisecond)
			if !b.start(t, waiter).Overdue {
				t.Error("not overdue after the grace")
			}
		},
		"a head whose own task is due in 50 ms is left to it": func(t *testing.T, b *bundle) {
			head, waiter := behind(t, b)
			head.Left = -1
			due := b.start(t, head).At
			b.clock.Advance(time.Duration(due-b.clock.Now()-500) * time.Millisecond)
			free(t, b)
			b.clock.Advance(460 * time.Millisecond)
			if b.start(t, waiter).Overdue {
				t.Error("overdue 40 ms before its task comes")
			}
			b.clock.Advance(41 * time.Millisecond)
			if !b.start(t, waiter).Overdue {
				t.Error("not overdue although its task did not come")
			}
		},
		"who may not wait claims nothing": func(t *testing.T, b *bundle) {
			_, waiter := behind(t, b)
			free(t, b)
			b.clock.Advance(500 * time.Millisecond)
			waiter.Left = -1
			if res := b.start(t, waiter); res.Overdue || res.Verdict != slot.Snoozed {
				t.Errorf("final answer: %+v, want SNOOZE without a claim", res)
			}
		},
		"an overdue head found in the queue is driven before its confirm deadline, and stays safe from void and confirm": func(t *testing.T, b *bundle) {
			head, waiter := behind(t, b)
			free(t, b)
			b.clock.Advance(200 * time.Millisecond)
			res := b.start(t, waiter)
			if !res.Overdue || !res.Next.Unconfirmed() || res.Next.Deadline < b.clock.Now() {
				t.Fatalf("waiter: %+v, want an overdue, unconfirmed head before its deadline", res)
			}
			g := b.run(t, drive(res.Next))
			// Its reserver thinks that CreateTask failed for certain; a duplicate's call had created it.
			wantVerdict(t, b.void(t, head.Request, head.Ticket, true), slot.Kept)
			if !b.confirm(t, head) {
				t.Error("confirm of a driven ticket refused")
			}
			b.finish(t, slot.FinishRequest{Grant: g, Request: head.Request, Outcome: slot.Accept, Jitter: 1})
			wantVerdict(t, b.void(t, head.Request, head.Ticket, true), slot.Kept)
			if !b.confirm(t, head) {
				t.Error("confirm of a finished request refused")
			}
			if res := b.start(t, head); res.Verdict != slot.AlreadyDone || res.Status != slot.Done {
				t.Errorf("its own task later: %+v, want DONE", res)
			}
		},
		"a head voided between look-up and drive is gone, and its confirm says so": func(t *testing.T, b *bundle) {
			head, waiter := behind(t, b)
			free(t, b)
			b.clock.Advance(200 * time.Millisecond)
			res := b.start(t, waiter)
			wantVerdict(t, b.void(t, head.Request, head.Ticket, true), slot.Voided)
			wantVerdict(t, b.start(t, drive(res.Next)).Verdict, slot.Gone)
			if b.confirm(t, head) {
				t.Error("a voided ticket was confirmed")
			}
			b.run(t, waiter)
		},
	})
}
