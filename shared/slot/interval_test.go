package slot_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// serve runs the next queued request for so long, after the lane has stood idle for so long.
func (b *bundle) serve(t *testing.T, task slot.StartRequest, idle, work time.Duration) {
	t.Helper()
	b.clock.Advance(idle)
	g := b.run(t, task)
	b.clock.Advance(work)
	b.finish(t, ended(g, task.Request, slot.Accept))
}

func (b *bundle) wantInterval(t *testing.T, want time.Duration) {
	t.Helper()
	state, _ := b.inspect(t, "")
	if state.Interval < want*99/100 || state.Interval > want*101/100 {
		t.Errorf("interval %v, want %v", state.Interval, want)
	}
}

func TestIntervalIsLearned(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"it is the time of the handler, and of the way to it": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			for _, task := range b.queued(t, many(8)...) {
				b.serve(t, task, 20*time.Millisecond, 300*time.Millisecond)
			}
			b.wantInterval(t, 320*time.Millisecond)
		},
		"it is the spacing where the handler is shorter": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, many(8)...)
			b.serve(t, tasks[0], 0, 20*time.Millisecond)
			for _, task := range tasks[1:] {
				b.serve(t, task, b.lane.Spacing-20*time.Millisecond, 20*time.Millisecond)
			}
			b.wantInterval(t, b.lane.Spacing)
		},
		"of starts that are late by more than 50 ms it learns no more than these": func(t *testing.T, b *bundle) {
			for _, task := range b.queued(t, many(8)...) {
				b.serve(t, task, 4*time.Second, 20*time.Millisecond)
			}
			b.wantInterval(t, b.lane.Spacing+50*time.Millisecond)
		},
		"handlers that become a hundred times faster are learned within 30 starts": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, many(36)...)
			for i, task := range tasks {
				work := 300 * time.Millisecond
				if i >= 5 {
					work = 3 * time.Millisecond
				}
				b.serve(t, task, 0, work)
			}
			state, _ := b.inspect(t, "")
			if state.Interval > 4*time.Millisecond {
				t.Errorf("interval %v, want about 3ms", state.Interval)
			}
		},
		"neither an empty lane nor a retry nor a hole is part of it": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			serve := func(ids ...string) {
				for _, task := range b.queued(t, ids...) {
					b.serve(t, task, 0, 200*time.Millisecond)
				}
			}
			serve("a", "b", "c")
			b.clock.Advance(time.Hour) // empty
			serve("d", "e")
			b.wantInterval(t, 200*time.Millisecond)

			tasks := b.queued(t, "f", "g")
			b.finish(t, ended(b.run(t, tasks[0]), "f", slot.Retry))
			b.serve(t, tasks[0], b.lane.BackoffMin, 200*time.Millisecond)
			b.serve(t, tasks[1], 0, 200*time.Millisecond)
			b.wantInterval(t, 200*time.Millisecond)

			tasks = b.queued(t, "h", "hole", "i")
			b.serve(t, tasks[0], 0, 200*time.Millisecond)
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			wantVerdict(t, b.void(t, "hole", tasks[1].Ticket, false), slot.Voided)
			b.serve(t, tasks[2], 0, 200*time.Millisecond)
			b.wantInterval(t, 200*time.Millisecond)
		},
		"until something is learned slots promise the pace alone, then the interval": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, many(4)...)
			if slot := b.reserve(t, ingest("early")).Slot; slot != b.clock.Now() {
				t.Errorf("slot %d, want now, %d", slot, b.clock.Now())
			}
			for _, task := range tasks[:3] {
				b.serve(t, task, 0, 300*time.Millisecond)
			}
			res := b.reserve(t, ingest("late"))
			if want := after(b.clock.Now(), 2*300*time.Millisecond); res.Position != 3 || res.Slot != want {
				t.Errorf("position %d slot %d, want the third at %d", res.Position, res.Slot, want)
			}
		},
		"told slots use the burst": func(t *testing.T, b *bundle) {
			b.lane.Burst, b.lane.Concurrency = 3, 1
			b.immediate(t, "first") // two starts may still be caught up
			for i, want := range []time.Duration{0, 0, 1, 2, 3} {
				res := b.reserve(t, ingest(string(rune('a'+i))))
				if res.Slot != after(b.clock.Now(), want*b.lane.Spacing) {
					t.Errorf("slot of rank %d: in %d ms, want %v", i, res.Slot-b.clock.Now(), want*b.lane.Spacing)
				}
			}
		},
		"a head's backoff moves every slot behind it": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			res := b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Retry))
			_, req := b.inspect(t, "b")
			if want := after(res.At, b.lane.Spacing); req.Slot != want {
				t.Errorf("slot of b %d, want a spacing after the retry at %d", req.Slot, res.At)
			}
		},
	})
}

func TestIntervalsOfInstances(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		now := time.UnixMilli(0)
		clock := func() time.Time { return now }
		teach := func(key string, work time.Duration) *slot.Intervals {
			b := setup(t, rdb)
			intervals := slot.NewIntervals(rdb, clock)
			b.store = slot.New(b.clock, slot.First, intervals)
			b.lane.Key, b.lane.Spacing = key, 0
			for _, task := range b.queued(t, "a", "b", "c") {
				b.serve(t, task, 0, work)
			}
			return intervals
		}
		// guess is where a new lane of the policy puts its second task.
		guess := func(intervals *slot.Intervals, key string) time.Duration {
			b := setup(t, rdb)
			b.store = slot.New(b.clock, slot.First, intervals)
			b.lane.Key, b.lane.Spacing = key, 0
			b.queued(t, "a")
			b.confirm(t, b.queued(t, "a")[0])
			g := b.run(t, b.queued(t, "a")[0])
			b.finish(t, ended(g, "a", slot.Accept))
			b.queued(t, "b")
			b.confirm(t, b.queued(t, "b")[0])
			due := b.reserve(t, ingest("c")).Due
			return time.Duration(due-b.clock.Now()) * time.Millisecond
		}
		exchange := func(intervals *slot.Intervals) {
			t.Helper()
			if err := intervals.Exchange(t.Context(), "paced"); err != nil {
				t.Fatal(err)
			}
		}
		one, two := teach("one", 4*time.Second), teach("two", 8*time.Second)
		exchange(one)
		exchange(two) // reads one's
		exchange(one) // too soon
		now = now.Add(slot.ExchangeEvery)
		exchange(one) // reads two's
		fresh := slot.NewIntervals(rdb, clock)
		exchange(fresh)
		// A second task is due at twice the interval less the lead of 3 s: 2 x 5 s for one, 2 x 6 s for two, 2 x 5 s for fresh.
		for name, c := range map[string]struct {
			intervals *slot.Intervals
			want      time.Duration
		}{"one": {one, 7 * time.Second}, "two": {two, 9 * time.Second}, "fresh": {fresh, 7 * time.Second}} {
			if got := guess(c.intervals, "guess of "+name); got != c.want {
				t.Errorf("%s puts a second task %v ahead, want %v", name, got, c.want)
			}
		}
		if ttl := rdb.TTL(t.Context(), "seriatim-policy:{paced}:interval").Val(); ttl <= 0 || ttl > time.Hour {
			t.Errorf("the policy's interval lives %v, want at most an hour", ttl)
		}
		var none *slot.Intervals
		if err := none.Exchange(t.Context(), "paced"); err != nil {
			t.Errorf("exchange of no intervals: %v", err)
		}
	})
}
