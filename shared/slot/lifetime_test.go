package slot_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// aging is a lane on a miniredis whose clock and lives of keys the test moves together.
type aging struct {
	*bundle
	m   *miniredis.Miniredis
	now time.Time
}

func newAging(t *testing.T) *aging {
	t.Helper()
	m := redistest.Miniredis(t)
	m.ClockTTL(true)
	rdb := redistest.Client(t, m)
	a := &aging{m: m, now: time.UnixMilli(1796119200000), bundle: &bundle{
		rdb: rdb, store: slot.New(rdb, slot.First, nil), lane: paced(t.Name()),
	}}
	a.pass(0)
	return a
}

func (a *aging) pass(d time.Duration) {
	a.now = a.now.Add(d)
	a.m.SetTime(a.now)
}

func TestLaneComesAnew(t *testing.T) {
	t.Parallel()
	t.Run("a record ends, then its lane; tickets and fences go on growing", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		g := a.immediate(t, "a")
		a.finish(t, ended(g, "a", slot.Accept))
		task := slot.StartRequest{Ticket: g.Ticket, Incarnation: a.incarnation(t), Request: "a", Owner: "late", Jitter: 1}

		a.pass(a.lane.Retention - time.Millisecond)
		if res := a.start(t, task); res.Verdict != slot.AlreadyDone || res.Status != slot.Done {
			t.Errorf("within the retention: %+v, want DONE done", res)
		}
		a.pass(2 * time.Millisecond)
		if res := a.start(t, task); res.Verdict != slot.AlreadyDone || res.Status != slot.Expired {
			t.Errorf("past the retention: %+v, want DONE expired", res)
		}
		a.pass(time.Hour)
		if keys := a.m.Keys(); len(keys) != 0 {
			t.Fatalf("keys left of an idle lane: %v", keys)
		}
		wantVerdict(t, a.start(t, task).Verdict, slot.UnknownTicket)
		again := a.immediate(t, "a") // the key is free again
		if again.Ticket <= g.Ticket || again.Fence <= g.Fence {
			t.Errorf("new life: %+v, want ticket and fence above %+v", again, g)
		}
		wantVerdict(t, a.start(t, task).Verdict, slot.UnknownTicket)
		adopt := ingest("a")
		adopt.Owner, adopt.Adopt = "late", true
		if res := a.reserve(t, adopt); res.Verdict != slot.Duplicate || res.Ticket != again.Ticket || !res.Leased {
			t.Errorf("the old task is adopted as %+v, want as a duplicate of what runs", res)
		}
	})
	t.Run("a lane with a task is there when the task comes a month later", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		task := a.queued(t, "a")[0]
		a.pass(31 * 24 * time.Hour)
		a.finish(t, ended(a.run(t, task), "a", slot.Accept))
		a.pass(2 * 24 * time.Hour)
		if keys := a.m.Keys(); len(keys) != 0 {
			t.Errorf("keys left of an idle lane: %v", keys)
		}
	})
	t.Run("a voided ticket is listed as long as its task may come", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		task := a.queued(t, "a")[0]
		a.pass(slot.ConfirmWithin + time.Second)
		wantVerdict(t, a.void(t, "a", task.Ticket, false), slot.Voided)
		a.pass(31 * 24 * time.Hour)
		wantVerdict(t, a.start(t, task).Verdict, slot.UnknownTicket)
	})
}

func TestOddDurationsAndLosses(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"durations of a few milliseconds, and parts of one": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.Lease, b.lane.Retention = 5*time.Millisecond, 900*time.Microsecond, time.Nanosecond
			b.lane.BackoffMin, b.lane.BackoffMax, b.lane.MaxAge = time.Nanosecond, time.Nanosecond, time.Hour
			tasks := b.queued(t, "a", "b")
			res := b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Retry))
			if res.At != b.clock.Now()+1 {
				t.Errorf("a backoff of a nanosecond ends at %d, want the next millisecond", res.At)
			}
			b.clock.Advance(5 * time.Millisecond)
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
		},
		"a lease that Redis lost gives the request a new ticket, and stalls nobody": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			b.rdb.Del(t.Context(), slot.KeysOf(b.lane.Key).Leases())
			b.run(t, tasks[1])
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.Lost)
			wantVerdict(t, b.start(t, tasks[0]).Verdict, slot.UnknownTicket)
			adopt := ingest("a")
			adopt.Adopt = true
			wantVerdict(t, b.reserve(t, adopt).Verdict, slot.Reserved)
		},
	})
}
