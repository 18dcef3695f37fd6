package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestReserveOnAnIdleLane(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a due lane grants at once and takes its pace": func(t *testing.T, b *bundle) {
			req := ingest("a")
			req.Immediate = true
			res := b.reserve(t, req)
			now := b.clock.Now()
			number := now * 1000 // numbers begin at microseconds
			want := slot.Reservation{
				Seen: slot.Seen{Now: now, Incarnation: number}, Verdict: slot.Run, Ticket: number,
				Grant: slot.Grant{Ticket: number, Fence: number + 1, Expiry: after(now, b.lane.Lease), Attempt: 1, Owner: "ingest-a"},
			}
			if diff := cmp.Diff(want, res); diff != "" {
				t.Errorf("first reservation (-want +got):\n%s", diff)
			}
			state, _ := b.inspect(t, "a")
			if want := after(now, b.lane.Spacing); state.Gate != want {
				t.Errorf("gate %d, want %d", state.Gate, want)
			}
		},
		"the same caller again gets the same grant, another caller the news that it runs": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			if again := b.immediate(t, "a"); again != g {
				t.Errorf("resent: %+v, want %+v", again, g)
			}
			rival := ingest("a")
			rival.Owner = "rival"
			rival.Immediate = true
			res := b.reserve(t, rival)
			wantVerdict(t, res.Verdict, slot.Duplicate)
			if res.Ticket != g.Ticket || !res.Leased || res.Confirmed {
				t.Errorf("rival got %+v, want ticket %d, leased, unconfirmed", res, g.Ticket)
			}
			if res.Due < g.Expiry {
				t.Errorf("the rival's task is due at %d, before the lease ends at %d", res.Due, g.Expiry)
			}
		},
		"who does not ask to run at once takes a ticket only": func(t *testing.T, b *bundle) {
			res := b.reserve(t, ingest("a"))
			now := b.clock.Now()
			want := slot.Reservation{
				Seen:    slot.Seen{Now: now, Incarnation: now * 1000},
				Verdict: slot.Reserved, Ticket: now * 1000, Slot: now, Position: 1, Due: now,
			}
			if diff := cmp.Diff(want, res); diff != "" {
				t.Errorf("reservation (-want +got):\n%s", diff)
			}
		},
		"a lane within its spacing grants nothing at once": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			b.clock.Advance(b.lane.Spacing - time.Millisecond)
			req := ingest("b")
			req.Immediate = true
			res := b.reserve(t, req)
			wantVerdict(t, res.Verdict, slot.Reserved)
			if res.Slot != b.clock.Now()+1 {
				t.Errorf("slot %d, want the end of the spacing, %d", res.Slot, b.clock.Now()+1)
			}
			b.clock.Advance(time.Millisecond)
			again := ingest("c")
			again.Immediate = true
			wantVerdict(t, b.reserve(t, again).Verdict, slot.Reserved) // b waits: nobody overtakes it
		},
		"an arrival overtakes neither a waiting ticket nor a lapsed one": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			b.immediate(t, "a")
			b.clock.Advance(b.lane.Lease) // its ingest has died
			req := ingest("b")
			req.Immediate = true
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Reserved)
		},
		"a paused lane grants nothing at once": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			b.clock.Advance(time.Minute)
			b.pause(t, true)
			req := ingest("b")
			req.Immediate = true
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Reserved)
		},
		"slots and schedules grow with the rank": func(t *testing.T, b *bundle) {
			b.immediate(t, "a")
			var last slot.Reservation
			for i, id := range []string{"b", "c", "d", "e"} {
				res := b.reserve(t, ingest(id))
				if want := after(b.clock.Now(), time.Duration(i+1)*b.lane.Spacing); res.Slot != want {
					t.Errorf("slot of %s: %d, want %d", id, res.Slot, want)
				}
				if res.Position != int64(i+1) || res.Due < last.Due {
					t.Errorf("%s: position %d due %d, want %d and no earlier than %d", id, res.Position, res.Due, i+1, last.Due)
				}
				last = res
			}
		},
	})
}

func TestReserveOfAKnownRequest(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"the caller's own ticket again is no duplicate": func(t *testing.T, b *bundle) {
			first := b.reserve(t, ingest("a"))
			again := b.reserve(t, ingest("a"))
			if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(slot.Seen{}, "Next")); diff != "" {
				t.Errorf("resent (-first +again):\n%s", diff)
			}
		},
		"a duplicate learns whether its task is known to be durable": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			rival := ingest("a")
			rival.Owner = "rival"
			if res := b.reserve(t, rival); res.Verdict != slot.Duplicate || res.Confirmed || res.Ticket != task.Ticket {
				t.Errorf("before confirm: %+v, want an unconfirmed duplicate of %d", res, task.Ticket)
			}
			if !b.confirm(t, task) {
				t.Fatal("confirm of a young ticket refused")
			}
			if res := b.reserve(t, rival); res.Verdict != slot.Duplicate || !res.Confirmed {
				t.Errorf("after confirm: %+v, want a confirmed duplicate", res)
			}
		},
		"another fingerprint is a mismatch, waiting, running and finished": func(t *testing.T, b *bundle) {
			other := ingest("a")
			other.Fingerprint = "another"
			task := b.queued(t, "a")[0]
			wantVerdict(t, b.reserve(t, other).Verdict, slot.Mismatch)
			g := b.run(t, task)
			wantVerdict(t, b.reserve(t, other).Verdict, slot.Mismatch)
			b.finish(t, ended(g, "a", slot.Accept))
			wantVerdict(t, b.reserve(t, other).Verdict, slot.Mismatch)
		},
		"a finished request is replayed byte for byte": func(t *testing.T, b *bundle) {
			started := time.UnixMilli(b.clock.Now()).UTC()
			g := b.immediate(t, "a")
			b.clock.Advance(30 * time.Millisecond)
			end := ended(g, "a", slot.Accept)
			end.Response = []byte("\x00\xff|;\r\n{}")
			told := b.finish(t, end).Record
			want := slot.Record{
				ID: "a", Status: slot.Done, Fingerprint: "print-a", Ticket: g.Ticket, Fence: g.Fence, Attempts: 1, Response: end.Response, Target: "shop",
				Submitted: ingest("a").Submitted.UTC(), Started: started, Finished: started.Add(30 * time.Millisecond),
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("finish (-want +got):\n%s", diff)
			}
			for range 2 {
				res := b.reserve(t, ingest("a"))
				wantVerdict(t, res.Verdict, slot.Replayed)
				if diff := cmp.Diff(want, res.Record); diff != "" {
					t.Errorf("replay (-want +got):\n%s", diff)
				}
			}
		},
		"a dead request is replayed too, with its reason": func(t *testing.T, b *bundle) {
			end := ended(b.immediate(t, "a"), "a", slot.GiveUp)
			end.Reason, end.Detail = "target-failed", "answered 400"
			b.finish(t, end)
			rec := b.reserve(t, ingest("a")).Record
			if rec.Status != slot.Dead || rec.Reason != end.Reason || rec.Detail != end.Detail {
				t.Errorf("replayed %+v, want dead with %q, %q", rec, end.Reason, end.Detail)
			}
		},
		"the mapping to a voided ticket is no mapping": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			wantVerdict(t, b.void(t, "a", task.Ticket, true), slot.Voided)
			if res := b.reserve(t, ingest("a")); res.Verdict != slot.Reserved || res.Ticket <= task.Ticket {
				t.Errorf("after void: %+v, want a ticket above %d", res, task.Ticket)
			}
		},
		"nor is that to a purged one": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a", "b")[0]
			b.write(t, "mark", task.Ticket+2, "u", task.Ticket+2)
			if res := b.reserve(t, ingest("a")); res.Verdict != slot.Reserved || res.Ticket <= task.Ticket+1 {
				t.Errorf("after purge: %+v, want a ticket above %d", res, task.Ticket+1)
			}
		},
		"a cancelled request may come again, with another content": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.write(t, "mark", task.Ticket+1, "u", task.Ticket+1)
			if res := b.start(t, task); res.Verdict != slot.AlreadyDone || res.Status != slot.Cancelled {
				t.Fatalf("start of a purged ticket: %+v, want DONE cancelled", res)
			}
			again := ingest("a")
			again.Fingerprint, again.Owner = "another", "another call"
			wantVerdict(t, b.reserve(t, again).Verdict, slot.Reserved)
		},
	})
}

func TestReserveRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a full lane refuses, changes nothing, and adopts all the same": func(t *testing.T, b *bundle) {
			b.lane.MaxDepth = 2
			b.immediate(t, "a")
			b.queued(t, "b")
			before := b.dump(t)
			res := b.reserve(t, ingest("c"))
			if res.Verdict != slot.Full || res.Reason != "depth" || res.Depth != 2 || res.RetryAfter < b.lane.Spacing {
				t.Errorf("third of two: %+v, want FULL for depth 2, to retry after a spacing", res)
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("a refusal changed the lane (-before +after):\n%s", diff)
			}
			adopted := ingest("c")
			adopted.Adopt = true
			wantVerdict(t, b.reserve(t, adopted).Verdict, slot.Reserved)
		},
		"a duplicate is answered by a full lane": func(t *testing.T, b *bundle) {
			b.lane.MaxDepth = 1
			b.queued(t, "a")
			rival := ingest("a")
			rival.Owner = "rival"
			wantVerdict(t, b.reserve(t, rival).Verdict, slot.Duplicate)
		},
		"a slot beyond the horizon is refused": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.MaxDepth = 24*time.Hour, 1000
			b.immediate(t, "first")
			for i := range 29 {
				wantVerdict(t, b.reserve(t, ingest(string(rune('A'+i)))).Verdict, slot.Reserved)
			}
			res := b.reserve(t, ingest("late"))
			if res.Verdict != slot.Full || res.Reason != "horizon" || res.RetryAfter != b.lane.Spacing {
				t.Errorf("slot in 30 days: %+v, want FULL for the horizon, to retry in a day", res)
			}
			adopted := ingest("late")
			adopted.Adopt = true
			wantVerdict(t, b.reserve(t, adopted).Verdict, slot.Reserved)
		},
		"a refused lane that did not exist still does not": func(t *testing.T, b *bundle) {
			b.lane.MaxDepth = 0
			wantVerdict(t, b.reserve(t, ingest("a")).Verdict, slot.Full)
			if diff := cmp.Diff(map[string]map[string]string{}, b.dump(t)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		},
	})
}
