package slot_test

import (
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestFinishGivesUp(t *testing.T) {
	t.Parallel()
	// fail ends the attempt of whoever holds the lane's turn and waits its backoff.
	fail := func(t *testing.T, b *bundle, task slot.StartRequest) slot.Finished {
		t.Helper()
		return b.finish(t, ended(b.run(t, task), task.Request, slot.Retry))
	}
	both(t, map[string]func(*testing.T, *bundle){
		"without attempts left a retry is the end, and the successor waits as long as the head would have": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b")
			fail(t, b, tasks[0])
			b.clock.Advance(time.Second)
			fail(t, b, tasks[0])
			b.clock.Advance(2 * time.Second)
			res := fail(t, b, tasks[0])
			hold := after(b.clock.Now(), 4*time.Second)
			if res.Verdict != slot.OK || res.Outcome != slot.GiveUp || res.Next.Ticket != tasks[1].Ticket || res.Next.At != hold {
				t.Fatalf("third failure: %+v, want dead, next b at %d", res, hold)
			}
			if rec := b.reserve(t, ingest("a")).Record; rec.Status != slot.Dead || rec.Reason != "attempts" || rec.Attempts != 3 {
				t.Errorf("record %+v, want dead for attempts after 3", rec)
			}
			if res := b.start(t, tasks[1]); res.Verdict != slot.Wait || res.Until != hold {
				t.Errorf("successor: %+v, want WAIT until %d", res, hold)
			}
			b.clock.Advance(4 * time.Second)
			b.run(t, tasks[1])
		},
		"a final failure holds nobody": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b")
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.GiveUp))
			b.run(t, tasks[1])
		},
		"past its greatest age a request is given up at its next failure": func(t *testing.T, b *bundle) {
			b.lane.MaxAge, b.lane.Attempts = 2*time.Second, 100
			task := b.queued(t, "a")[0]
			b.clock.Advance(time.Hour) // waiting is no age
			if res := fail(t, b, task); res.Outcome != slot.Retry {
				t.Fatalf("first failure: %+v, want a retry", res)
			}
			b.clock.Advance(2 * time.Second)
			if res := fail(t, b, task); res.Outcome != slot.GiveUp {
				t.Errorf("failure at 2 s: %+v, want dead", res)
			}
			if rec := b.reserve(t, ingest("a")).Record; rec.Reason != "max-age" {
				t.Errorf("reason %q, want max-age", rec.Reason)
			}
		},
		"a crash loop ends too: a grant that nobody ended is an attempt": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			for range b.lane.Attempts {
				b.run(t, task)
				b.clock.Advance(b.lane.Lease)
			}
			if res := fail(t, b, task); res.Outcome != slot.GiveUp {
				t.Errorf("after %d crashes: %+v, want dead", b.lane.Attempts, res)
			}
		},
		"a shorter hold never shortens a longer one": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.Concurrency, b.lane.Attempts = 0, 2, 1
			tasks := b.queued(t, "a", "b", "c")
			long, short := ended(b.run(t, tasks[0]), "a", slot.Retry), ended(b.run(t, tasks[1]), "b", slot.Retry)
			long.RetryAfter, short.RetryAfter = time.Minute, time.Second
			b.finish(t, long)
			if res := b.finish(t, short); res.Next.At != after(b.clock.Now(), time.Minute) {
				t.Errorf("next %+v, want c in a minute, as the first target asked", res.Next)
			}
		},
		"a lane remembers its hold although its records are short-lived": func(t *testing.T, b *bundle) {
			b.lane.Retention, b.lane.Attempts = time.Minute, 1
			end := ended(b.immediate(t, "a"), "a", slot.Retry)
			end.RetryAfter = time.Hour
			b.finish(t, end)
			b.livesPast(t, after(b.clock.Now(), time.Hour))
		},
	})
}

func TestLivesOfLanes(t *testing.T) {
	t.Parallel()
	const month = 31 * 24 * time.Hour
	both(t, map[string]func(*testing.T, *bundle){
		"a lane outlives every task that it may have": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			b.livesPast(t, after(b.clock.Now(), month))
			b.clock.Advance(20 * 24 * time.Hour)
			task.Left = -1
			b.write(t, "paused", 1)
			b.start(t, task) // snoozed: another task
			b.livesPast(t, after(b.clock.Now(), month))
			b.write(t, "paused", 0)
			b.clock.Advance(20 * 24 * time.Hour)
			b.finish(t, ended(b.run(t, task), "a", slot.Retry))
			b.livesPast(t, after(b.clock.Now(), month))
		},
		"a lane outlives its own pace": func(t *testing.T, b *bundle) {
			b.lane.Spacing, b.lane.Burst, b.lane.Concurrency = 24*time.Hour, 60, 2
			b.immediate(t, "a")
			spent := after(b.clock.Now(), 40*24*time.Hour)
			b.write(t, "tat", spent) // as after 40 starts at once
			b.finish(t, ended(b.run(t, b.queued(t, "b")[0]), "b", slot.Accept))
			b.livesPast(t, after(spent, b.lane.Spacing))
		},
		"a lane that never had a task lives as long as its records": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.Accept))
			b.livesPast(t, after(b.clock.Now(), b.lane.Retention))
			if end := b.end(t); end > after(b.clock.Now(), b.lane.Retention+time.Hour) {
				t.Errorf("an idle lane lives until %d, more than an hour past its last record", end)
			}
		},
		"the record of a run lives as long as any function may run it, however short the retention": func(t *testing.T, b *bundle) {
			b.lane.Retention = time.Minute
			g := b.immediate(t, "a")
			for range 15 {
				b.clock.Advance(4 * time.Second)
				if _, ok, err := b.store.Renew(t.Context(), b.lane, g); !ok || err != nil {
					t.Fatalf("renew: %t, %v", ok, err)
				}
			}
			end, err := b.rdb.PExpireTime(t.Context(), slot.KeysOf(b.lane.Key).Record("a")).Result()
			if err != nil || end < time.Duration(b.clock.Now())*time.Millisecond+50*time.Minute {
				t.Errorf("the record ends at %v (error %v), while its request may run for an hour", end, err)
			}
		},
	})
}

func (b *bundle) end(t *testing.T) int64 {
	t.Helper()
	end, err := b.rdb.PExpireTime(t.Context(), slot.KeysOf(b.lane.Key).State()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return end.Milliseconds()
}

func (b *bundle) livesPast(t *testing.T, at int64) {
	t.Helper()
	if end := b.end(t); end <= at {
		t.Errorf("the lane ends at %d, %v too early", end, time.Duration(at-end)*time.Millisecond)
	}
}
