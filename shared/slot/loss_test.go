package slot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// empty loses all of Redis; the next call is of another generation, which knows marks.
func (b *bundle) empty(t *testing.T, marks slot.Marks) {
	t.Helper()
	keys, err := slottest.Keys(t.Context(), b.rdb, b.lane.Key)
	if err == nil && len(keys) > 0 {
		err = b.rdb.Del(t.Context(), keys...).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Millisecond) // a Redis does not start within one
	b.lose(t, 2, marks)
}

// adopt is what an executor reserves for a task that the lane does not know.
func (b *bundle) adopt(t *testing.T, task slot.StartRequest) (slot.Reservation, slot.StartRequest) {
	t.Helper()
	wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
	req := ingest(task.Request)
	req.Owner, req.Adopt, req.Ticket, req.K = "adopter", true, task.Ticket, task.K
	res := b.reserve(t, req)
	task.Incarnation, task.Ticket = res.Incarnation, res.Ticket
	return res, task
}

// drains runs tasks one after the other, in this order.
func (b *bundle) drains(t *testing.T, tasks ...slot.StartRequest) {
	t.Helper()
	for _, task := range tasks {
		b.finish(t, ended(b.run(t, task), task.Request, slot.Accept))
		b.clock.Advance(b.lane.Spacing)
	}
}

func TestARedisThatWasEmptied(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"what returns keeps its number and runs first, in whatever order it comes back": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a", "b", "c")
			b.clock.Advance(time.Second)
			b.empty(t, slot.Marks{})
			fresh := b.queued(t, "d")[0]
			var tasks [3]slot.StartRequest
			for _, i := range []int{2, 0, 1} {
				var res slot.Reservation
				res, tasks[i] = b.adopt(t, old[i])
				if res.Ticket != old[i].Ticket || res.Ticket >= fresh.Ticket || !res.Young {
					t.Errorf("%s adopted as %d (young: %t), want its old %d, below the new %d", old[i].Request, res.Ticket, res.Young, old[i].Ticket, fresh.Ticket)
				}
			}
			b.clock.Advance(b.lane.Spacing)
			if state, req := b.inspect(t, "d"); state.Depth != 4 || req.Position != 4 {
				t.Errorf("depth %d, the new one at %d; want 4, 4", state.Depth, req.Position)
			}
			b.wantList(t, slot.ListRequest{Size: 10}, "a open 1", "b open 2", "c open 3", "d open 4")
			b.drains(t, tasks[0], tasks[1], tasks[2], fresh)
		},
		"what is new waits until the old has had time to return, the old does not": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			reach := after(b.clock.Now(), time.Minute)
			b.empty(t, slot.Marks{Reach: reach})
			b.clock.Advance(b.lane.Spacing)
			req := ingest("b")
			req.Immediate = true
			res := b.reserve(t, req)
			wantVerdict(t, res.Verdict, slot.Reserved)
			if res.Slot < reach {
				t.Errorf("slot %d, want none before %d", res.Slot, reach)
			}
			if state, _ := b.inspect(t, ""); state.QuarantineUntil != reach || state.Horizon != reach {
				t.Errorf("quarantine until %d, horizon %d; want %d", state.QuarantineUntil, state.Horizon, reach)
			}
			_, task := b.adopt(t, old)
			b.drains(t, task)
			fresh := slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: "b", Owner: "x", Left: slot.InlineWait, Jitter: 1}
			wantVerdict(t, b.start(t, fresh).Verdict, slot.Snoozed)
			b.clock.Advance(time.Minute)
			b.drains(t, fresh)
		},
		"a pause holds": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			b.empty(t, slot.Marks{Paused: true})
			_, task := b.adopt(t, old)
			if v := b.start(t, task); v.Verdict != slot.Snoozed || v.Reason != string(slot.StandsPaused) {
				t.Errorf("%s %s, want a snooze of a paused lane", v.Verdict, v.Reason)
			}
			b.pause(t, false)
			b.clock.Advance(b.lane.Spacing)
			b.drains(t, task)
		},
		"what was purged stays purged, what came later runs": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a", "b")
			b.empty(t, slot.Marks{Purged: old[1].Ticket})
			res, _ := b.adopt(t, old[0])
			wantVerdict(t, res.Verdict, slot.Purged)
			if _, r := b.inspect(t, "a"); r.Status != slot.Cancelled {
				t.Errorf("a is %s, want cancelled", r.Status)
			}
			_, task := b.adopt(t, old[1])
			b.clock.Advance(b.lane.Spacing)
			b.drains(t, task)
		},
		"a purge after the loss takes what has not returned yet": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			b.empty(t, slot.Marks{})
			p, err := b.store.Purge(t.Context(), b.lane)
			if err != nil || p.Below <= old.Ticket || p.Requests != 0 {
				t.Fatalf("%+v, %v; want all below something above %d, and none known", p, err, old.Ticket)
			}
			res, _ := b.adopt(t, old)
			wantVerdict(t, res.Verdict, slot.Purged)
		},
		"the lane stands on what was parked": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a", "b")
			b.empty(t, slot.Marks{Parked: []int64{old[0].Ticket}})
			_, head := b.adopt(t, old[0])
			_, next := b.adopt(t, old[1])
			b.clock.Advance(b.lane.Spacing)
			if v := b.start(t, next); v.Reason != string(slot.StandsParked) {
				t.Errorf("%s %s, want a snooze on a parked head", v.Verdict, v.Reason)
			}
			wantVerdict(t, b.resolve(t, "a", slot.Redrive).Verdict, slot.OK)
			b.drains(t, head, next)
		},
		"a number that is taken or was given up is not kept": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			b.empty(t, slot.Marks{})
			_, task := b.adopt(t, old)
			other := old
			other.Request, other.Ticket = "b", old.Ticket
			res, _ := b.adopt(t, other)
			if res.Ticket == old.Ticket {
				t.Error("two requests with one number")
			}
			if v := b.void(t, "a", task.Ticket, true); v != slot.Kept && v != slot.Voided {
				t.Fatal(v)
			}
		},
		"the pace holds across the loss": func(t *testing.T, b *bundle) {
			b.lane.Spacing = time.Minute
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			b.clock.Advance(10 * time.Second)
			b.empty(t, slot.Marks{})
			lost := b.clock.Now()
			task := b.queued(t, "b")[0]
			if v := b.start(t, task); v.Verdict != slot.Snoozed {
				t.Errorf("%s, want a snooze", v.Verdict)
			}
			if state, _ := b.inspect(t, ""); state.Gate != after(lost, b.lane.Spacing) {
				t.Errorf("gate %d, want a spacing after the loss was noticed, %d", state.Gate, after(lost, b.lane.Spacing))
			}
		},
		"nothing begins where nobody can say what was kept": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			b.empty(t, slot.Marks{})
			away := errors.New("store is away")
			b.store.Restore = func(context.Context, string) (slot.Marks, error) { return slot.Marks{}, away }
			if _, err := b.store.Reserve(t.Context(), b.lane, ingest("b")); !errors.Is(err, away) {
				t.Errorf("reserve: %v, want the store's error", err)
			}
			if dump := b.dump(t); len(dump) != 0 {
				t.Errorf("left %v, want nothing", dump)
			}
		},
		"a lane that is new is not trusted before its generation is verified": func(t *testing.T, b *bundle) {
			b.store = slot.New(b.clock, &records{known: 1, stored: 2}, nil)
			req := ingest("a")
			req.Immediate = true
			for range 2 { // a resend is not trusted either
				if _, err := b.store.Reserve(t.Context(), b.lane, req); !errors.Is(err, slot.ErrLost) {
					t.Errorf("reserve: %v, want ErrLost", err)
				}
			}
		},
	})
}

// A lane that began in an emptied Redis before anybody noticed knows neither the quarantine nor how long what was accepted before may
// take to return: who has noticed begins it anew.
func TestALaneThatBeganUnnoticedIsForgotten(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a grant is not told again, and what is new waits for the old": func(t *testing.T, b *bundle) {
			req := ingest("a")
			req.Immediate = true
			began := b.reserve(t, req) // its answer is lost
			wantVerdict(t, began.Verdict, slot.Run)
			b.queued(t, "b")
			b.clock.Advance(time.Millisecond)
			reach := after(b.clock.Now(), time.Minute)
			b.noticed(t, slot.Generation{Number: 2, Emptied: 2, QuarantineUntil: after(b.clock.Now(), b.lane.Lease)}, slot.Marks{Reach: reach})
			res := b.reserve(t, req)
			wantVerdict(t, res.Verdict, slot.Reserved)
			if res.Ticket <= began.Ticket || res.Incarnation <= began.Incarnation || res.Slot < reach || !res.Young {
				t.Errorf("ticket %d of %d in slot %d (young: %t), want another than %d of %d, from %d", res.Ticket, res.Incarnation, res.Slot, res.Young,
					began.Ticket, began.Incarnation, reach)
			}
			b.wantList(t, slot.ListRequest{Size: 10}, "a open 1")
		},
		"not before its marks are known, and its clock does not go back": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			before, began := b.dump(t), b.clock.Now()
			b.clock.Advance(-3 * time.Millisecond)
			b.noticed(t, slot.Generation{Number: 2, Emptied: 2}, slot.Marks{})
			b.store.Restore = func(context.Context, string) (slot.Marks, error) {
				if diff := cmp.Diff(before, b.dump(t)); diff != "" {
					t.Errorf("while the marks are read (-want +got):\n%s", diff)
				}
				return slot.Marks{}, nil
			}
			if res := b.reserve(t, ingest("b")); res.Now != began || res.Position != 1 {
				t.Errorf("at %d in place %d, want %d, 1", res.Now, res.Position, began)
			}
		},
		"also by who begins nothing": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.noticed(t, slot.Generation{Number: 3, Emptied: 2}, slot.Marks{})
			wantVerdict(t, b.start(t, task).Verdict, slot.UnknownTicket)
			if left := b.dump(t)["q"]; len(left) != 0 {
				t.Errorf("left %v, want no tickets", left)
			}
		},
		"one that began afterwards is not": func(t *testing.T, b *bundle) {
			b.noticed(t, slot.Generation{Number: 2, Emptied: 2}, slot.Marks{})
			task := b.queued(t, "a")[0]
			b.noticed(t, slot.Generation{Number: 3, Emptied: 2}, slot.Marks{})
			wantVerdict(t, b.start(t, task).Verdict, slot.Wait)
		},
	})
}

// noticed makes the bundle a caller of generation g, in which lanes may have been lost.
func (b *bundle) noticed(t *testing.T, g slot.Generation, marks slot.Marks) {
	t.Helper()
	g.RestoreUntil = after(b.clock.Now(), 32*24*time.Hour)
	b.store = slot.New(b.clock, slot.Fixed(g), nil)
	b.store.Restore = func(context.Context, string) (slot.Marks, error) { return marks, nil }
}

func TestARedisThatWasRolledBack(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a ticket of the lost milliseconds returns in its place, with its count": func(t *testing.T, b *bundle) {
			first := b.queued(t, "a")[0]
			before := b.dump(t)
			lost := b.queued(t, "b")[0]
			lost.K = 2
			b.rollBack(t, before)
			b.lose(t, 2, slot.Marks{})
			fresh := b.queued(t, "c")[0]
			res, task := b.adopt(t, lost)
			if task.Ticket != lost.Ticket || task.Incarnation != lost.Incarnation || task.Ticket >= fresh.Ticket {
				t.Errorf("adopted as %d of %d, want its old %d of %d below %d", res.Ticket, res.Incarnation, lost.Ticket, lost.Incarnation, fresh.Ticket)
			}
			b.wantList(t, slot.ListRequest{Size: 10}, "a open 1", "b open 2", "c open 3")
			b.clock.Advance(b.lane.Spacing)
			b.drains(t, first)
			if state, _ := b.inspect(t, ""); state.Next.Ticket != task.Ticket || state.Next.K != 2 || state.Lost == 0 {
				t.Errorf("head %+v, lost at %d; want ticket %d of count 2 and when", state.Next, state.Lost, task.Ticket)
			}
			b.drains(t, task, fresh)
		},
		"a number that was adopted in the lost milliseconds is adopted again": func(t *testing.T, b *bundle) {
			old := b.queued(t, "a")[0]
			b.empty(t, slot.Marks{})
			fresh := b.queued(t, "b")[0]
			before := b.dump(t)
			_, task := b.adopt(t, old)
			b.rollBack(t, before)
			b.lose(t, 3, slot.Marks{})
			res, again := b.adopt(t, task)
			if res.Verdict != slot.Reserved || again.Ticket != old.Ticket {
				t.Errorf("%s ticket %d, want OK under %d", res.Verdict, again.Ticket, old.Ticket)
			}
			b.clock.Advance(time.Hour)
			b.drains(t, again, fresh)
		},
		"what an operator said in the lost milliseconds holds": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b", "c")
			b.lose(t, 2, slot.Marks{Paused: true, Purged: tasks[1].Ticket, Parked: []int64{tasks[1].Ticket}})
			v := b.start(t, tasks[0])
			wantVerdict(t, v.Verdict, slot.AlreadyDone)
			if v.Status != slot.Cancelled {
				t.Errorf("a is %s, want cancelled", v.Status)
			}
			state, req := b.inspect(t, "b")
			if !state.Paused || !req.Parked || state.Depth != 2 {
				t.Errorf("paused %t, b parked %t, depth %d; want true, true, 2", state.Paused, req.Parked, state.Depth)
			}
		},
	})
}

// rollBack makes the lane what it was when nothing had started: its hashes of dump.
func (b *bundle) rollBack(t *testing.T, dump map[string]map[string]string) {
	t.Helper()
	keys, err := slottest.Keys(t.Context(), b.rdb, b.lane.Key)
	if err == nil {
		err = b.rdb.Del(t.Context(), keys...).Err()
	}
	prefix := strings.TrimSuffix(slot.KeysOf(b.lane.Key).State(), "s")
	for name, fields := range dump {
		if err == nil && (name == "s" || name == "q" || strings.HasPrefix(name, "i:")) {
			err = errors.Join(b.rdb.HSet(t.Context(), prefix+name, fields).Err(), b.rdb.PExpire(t.Context(), prefix+name, time.Hour).Err())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
