package slot_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// TestPaceHoldsThroughChanges starts requests at random instants while operators change the spacing, and sometimes retry them.
// Grants are always at least the spacing of the moment apart, and a lane that may start does.
func TestPaceHoldsThroughChanges(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	worlds := 0
	rapid.Check(t, func(r *rapid.T) {
		worlds++
		clock := slottest.NewClock(rdb)
		b := &bundle{rdb: rdb, clock: clock, store: slot.New(clock, slot.First, nil), lane: paced(fmt.Sprint("lane ", worlds))}
		b.lane.Attempts, b.lane.BackoffMin, b.lane.BackoffMax = 100, time.Millisecond, time.Millisecond
		tasks := b.queued(t, many(12)...)
		last := int64(0)
		for steps := 0; len(tasks) > 0 && steps < 60; steps++ {
			b.clock.Advance(time.Duration(rapid.IntRange(0, 900).Draw(r, "passes")) * time.Millisecond)
			b.lane.Spacing = time.Duration(rapid.SampledFrom([]int{0, 10, 300, 1000, 2000}).Draw(r, "spacing")) * time.Millisecond
			gate := after(last, b.lane.Spacing)
			res := b.start(t, tasks[0])
			if runs := res.Verdict == slot.Run; runs != (clock.Now() >= gate) {
				r.Fatalf("%d ms after the last start, spacing %v: %s", clock.Now()-last, b.lane.Spacing, res.Verdict)
			}
			if res.Verdict != slot.Run {
				continue
			}
			last = clock.Now()
			outcome := slot.Accept
			if rapid.Bool().Draw(r, "fails") {
				outcome = slot.Retry
			}
			b.finish(t, ended(res.Grant, tasks[0].Request, outcome))
			b.clock.Advance(time.Millisecond)
			if outcome == slot.Accept {
				tasks = tasks[1:]
			}
		}
	})
}

func TestPaceWithABurst(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"an idle lane starts a burst at once, then one per spacing": func(t *testing.T, b *bundle) {
			b.lane.Burst = 5
			tasks := b.queued(t, many(8)...)
			for i, task := range tasks {
				res := b.start(t, task)
				if i >= 5 {
					wantVerdict(t, res.Verdict, slot.Wait)
					b.clock.Advance(b.lane.Spacing - time.Millisecond)
					wantVerdict(t, b.start(t, task).Verdict, slot.Wait)
					b.clock.Advance(time.Millisecond)
					res = b.start(t, task)
				}
				wantVerdict(t, res.Verdict, slot.Run)
				b.finish(t, ended(res.Grant, task.Request, slot.Accept))
			}
		},
		"a burst is not saved beyond its size": func(t *testing.T, b *bundle) {
			b.lane.Burst = 2
			tasks := b.queued(t, many(4)...)
			b.finish(t, ended(b.run(t, tasks[0]), tasks[0].Request, slot.Accept))
			b.clock.Advance(time.Hour)
			for _, task := range tasks[1:3] {
				b.finish(t, ended(b.run(t, task), task.Request, slot.Accept))
			}
			wantVerdict(t, b.start(t, tasks[3]).Verdict, slot.Wait)
		},
		"a clock that steps back holds the lane until it has caught up, and lets nobody start early": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			b.clock.Advance(-time.Minute) // a failover to a host whose clock is behind
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
			res := b.start(t, tasks[1])
			if res.Verdict != slot.Wait || res.Now < g.Expiry-b.lane.Lease.Milliseconds() {
				t.Errorf("after the step: %+v, want WAIT, at a time that has not gone back", res)
			}
			b.clock.Advance(time.Minute + b.lane.Spacing)
			b.run(t, tasks[1])
		},
	})
}
