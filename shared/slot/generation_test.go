package slot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// records is a store of generations outside Redis: what an instance knows, and what it would read.
type records struct {
	known, stored int64
	err           error
	reads         int
}

func (r *records) Current() (slot.Generation, error) { return slot.Generation{Number: r.known}, nil }

func (r *records) Refresh(context.Context) error {
	r.reads++
	r.known = r.stored
	return r.err
}

func (r *records) Verify(_ context.Context, number int64) error {
	if number != r.stored {
		return slot.ErrLost
	}
	return nil
}

func TestGenerationOfTheCaller(t *testing.T) {
	t.Parallel()
	// old makes a lane of generation 2, and a caller that knows generation 1.
	old := func(t *testing.T, b *bundle, r *records) slot.StartRequest {
		b.store = slot.New(b.clock, slot.Fixed{Number: 2}, nil)
		task := b.queued(t, "a")[0]
		b.store = slot.New(b.clock, r, nil)
		return task
	}
	both(t, map[string]func(*testing.T, *bundle){
		"a caller behind reads its store once and goes on": func(t *testing.T, b *bundle) {
			r := &records{known: 1, stored: 2}
			task := old(t, b, r)
			b.run(t, task)
			b.inspect(t, "a")
			if r.reads != 1 {
				t.Errorf("%d reads of the store, want 1", r.reads)
			}
		},
		"one whose store is behind too gives up, and has changed nothing": func(t *testing.T, b *bundle) {
			r := &records{known: 1, stored: 1}
			task := old(t, b, r)
			before := b.dump(t)
			if _, err := b.store.Start(t.Context(), b.lane, task); !errors.Is(err, slot.ErrGeneration) {
				t.Errorf("start: %v, want ErrGeneration", err)
			}
			if diff := cmp.Diff(before, b.dump(t)); r.reads != 1 || diff != "" {
				t.Errorf("%d reads of the store, want 1; state (-before +after):\n%s", r.reads, diff)
			}
		},
		"a store out of reach is the error": func(t *testing.T, b *bundle) {
			r := &records{known: 1, err: errors.New("store is away")}
			task := old(t, b, r)
			if _, err := b.store.Start(t.Context(), b.lane, task); !errors.Is(err, r.err) {
				t.Errorf("start: %v, want the store's own error", err)
			}
		},
	})
}

func TestRequestsThatMayHaveEndedBeforeTheLoss(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"are told with a new ticket, a grant and a duplicate, for a retention": func(t *testing.T, b *bundle) {
			b.lose(t, 2, slot.Marks{})
			run, queued := ingest("a"), ingest("b")
			run.Immediate = true
			rival := queued
			rival.Owner = "rival"
			told := func(young bool, requests ...slot.ReserveRequest) {
				t.Helper()
				for _, req := range requests {
					if res := b.reserve(t, req); res.Young != young {
						t.Errorf("%s: young %t, want %t", res.Verdict, res.Young, young)
					}
				}
			}
			told(true, run, queued, rival)
			b.clock.Advance(b.lane.Retention)
			told(false, rival, ingest("c"))
		},
		"are not told of a lane that began before": func(t *testing.T, b *bundle) {
			b.store = slot.New(b.clock, slot.Fixed{Number: 1, RestoreUntil: after(b.clock.Now(), 32*24*time.Hour)}, nil)
			b.reserve(t, ingest("a"))
			b.lose(t, 1, slot.Marks{})
			if res := b.reserve(t, ingest("b")); !res.Young {
				t.Error("a lane that began after the loss: not young")
			}
			b.store = slot.New(b.clock, slot.First, nil)
			b.lane.Key += "'"
			if res := b.reserve(t, ingest("a")); res.Young {
				t.Error("a lane of a Redis that was never lost: young")
			}
		},
	})
}

// lose makes the bundle a caller of another generation, which restores lanes with marks.
func (b *bundle) lose(t *testing.T, number int64, marks slot.Marks) {
	t.Helper()
	b.noticed(t, slot.Generation{Number: number}, marks)
}

// forget has Redis lose the lane.
func (b *bundle) forget(t *testing.T) {
	t.Helper()
	keys, err := slottest.Keys(t.Context(), b.rdb, b.lane.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRepairOfAnOlderLane(t *testing.T) {
	t.Parallel()
	next := func(b *bundle) { b.store = slot.New(b.clock, slot.Fixed{Number: 2}, nil) }
	both(t, map[string]func(*testing.T, *bundle){
		"tickets and fences jump, and what was lost in between is a gap": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			before := b.run(t, tasks[0])
			b.clock.Advance(b.lane.Lease)
			next(b)
			res := b.reserve(t, ingest("c"))
			if res.Ticket < tasks[1].Ticket+30_000 || res.Position != 3 {
				t.Errorf("new ticket %d position %d, want it 30,000 above %d and third", res.Ticket, res.Position, tasks[1].Ticket)
			}
			b.clock.Advance(b.lane.Spacing)
			if g := b.run(t, tasks[0]); g.Fence < before.Fence+30_000 {
				t.Errorf("fence %d after %d, want a jump of 30,000", g.Fence, before.Fence)
			}
			if state, _ := b.inspect(t, ""); state.Depth != 3 || state.Incarnation != tasks[0].Incarnation {
				t.Errorf("depth %d incarnation %d, want 3 and the same %d", state.Depth, state.Incarnation, tasks[0].Incarnation)
			}
		},
		"a lane that begins twice in one generation does not take tasks of its first life for those of the second": func(t *testing.T, b *bundle) {
			number := b.clock.Now()*1000 + 120_000 // ahead of the clock, as after several losses at once
			b.lose(t, number, slot.Marks{})
			old := b.queued(t, "a", "b")
			b.forget(t)
			b.clock.Advance(time.Millisecond)
			b.lane.Spacing = 0
			// Who has not noticed begins the lane; what it runs takes the turn past the number of the old task.
			for _, task := range b.queued(t, "x", "y") {
				b.finish(t, ended(b.run(t, task), task.Request, slot.Accept))
			}
			wantVerdict(t, b.start(t, old[0]).Verdict, slot.UnknownTicket)
		},
		"numbers go on growing when Redis is emptied as soon as something has run again": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a")
			number := b.clock.Now() * 1000
			b.lose(t, number, slot.Marks{}) // a failover: the lane is there
			late := ingest("b")
			after := b.reserve(t, late)
			b.clock.Advance(6666 * time.Millisecond) // the shortest quarantine, that of a lease of 5 s
			before := b.run(t, tasks[0])
			b.forget(t)
			b.lose(t, number+60_000, slot.Marks{}) // what two generations are apart at least
			late.Adopt, late.Ticket = true, after.Ticket
			if res := b.reserve(t, late); res.Ticket != after.Ticket {
				t.Errorf("what was accepted before the loss gets ticket %d, want its own %d", res.Ticket, after.Ticket)
			}
			res := b.reserve(t, ingest("c"))
			if res.Ticket <= after.Ticket {
				t.Errorf("ticket %d after %d", res.Ticket, after.Ticket)
			}
			b.clock.Advance(b.lane.Spacing)
			g := b.run(t, slot.StartRequest{Ticket: after.Ticket, Incarnation: res.Incarnation, Request: "b", Owner: "e"})
			if g.Fence <= before.Fence {
				t.Errorf("fence %d after %d", g.Fence, before.Fence)
			}
		},
		"numbers go on growing when who begins the emptied lane knows of no loss before": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			b.lose(t, b.clock.Now()*1000, slot.Marks{}) // a failover, whose repair skips numbers
			old := b.queued(t, "b")[0]
			b.forget(t)
			b.clock.Advance(time.Second)
			b.lose(t, b.clock.Now()*1000, slot.Marks{}) // by a process that has just begun
			fresh := b.queued(t, "c")[0]
			if fresh.Ticket <= old.Ticket {
				t.Errorf("ticket %d after %d: what is new is before what is old, and its fences are lower", fresh.Ticket, old.Ticket)
			}
			wantVerdict(t, b.start(t, old).Verdict, slot.UnknownTicket)
			late := ingest("b")
			late.Owner, late.Adopt, late.Ticket = "e", true, old.Ticket
			if res := b.reserve(t, late); res.Ticket != old.Ticket || res.Position != 1 {
				t.Errorf("what was accepted before the loss: %+v, want it first, under its ticket %d", res, old.Ticket)
			}
		},
		"turns go on over the gap, twice": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			var tasks []slot.StartRequest
			for generation := range int64(3) {
				b.store = slot.New(b.clock, slot.Fixed{Number: generation + 1}, nil)
				tasks = append(tasks, b.queued(t, many(int(2*generation + 2))[2*generation:]...)...)
			}
			for i, task := range tasks {
				if _, req := b.inspect(t, tasks[len(tasks)-1].Request); req.Position != int64(len(tasks)-i) {
					t.Errorf("position of the last %d, want %d", req.Position, len(tasks)-i)
				}
				b.finish(t, ended(b.run(t, task), task.Request, slot.Accept))
			}
			if state, _ := b.inspect(t, ""); state.Depth != 0 {
				t.Errorf("depth %d, want 0", state.Depth)
			}
		},
		"an old lease stands until it lapses, and its holder may still end it": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			next(b)
			wantVerdict(t, b.start(t, tasks[1]).Verdict, slot.Wait)
			if _, ok, err := b.store.Renew(t.Context(), b.lane, g); !ok || err != nil {
				t.Errorf("renew: %t, %v", ok, err)
			}
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
			b.run(t, tasks[1])
		},
		"the pace counts as just taken, the whole burst of it": func(t *testing.T, b *bundle) {
			b.lane.Burst = 3
			task := b.queued(t, "a")[0]
			b.clock.Advance(time.Hour)
			next(b)
			if res := b.start(t, task); res.Verdict != slot.Wait || res.Until != after(b.clock.Now(), b.lane.Spacing) {
				t.Errorf("start: %+v, want WAIT for a spacing", res)
			}
		},
		"looking repairs for the answer only": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			next(b)
			before := b.dump(t)
			if state, _ := b.inspect(t, "a"); state.Depth != 1 {
				t.Errorf("depth %d, want 1", state.Depth)
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
		},
		"the repaired lane outlives the tasks that it had": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			next(b)
			b.kick(t, b.incarnation(t), 0, "k")
			b.livesPast(t, after(b.clock.Now(), 31*24*time.Hour))
		},
	})
}

func (b *bundle) incarnation(t *testing.T) int64 {
	t.Helper()
	state, _ := b.inspect(t, "")
	return state.Incarnation
}
