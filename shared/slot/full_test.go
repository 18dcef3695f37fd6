package slot_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// newFull returns a lane with one request that runs and others that wait, on a Redis that takes no more.
func newFull(t *testing.T, waiting int) (b *bundle, running slot.Grant, tasks []slot.StartRequest) {
	t.Helper()
	b = setup(t, redistest.Start(t, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction").Client())
	b.lane.MaxDepth, b.lane.Spacing = 100_000, 0
	b.clock.After = nil
	running = b.immediate(t, "runs")
	tasks = b.queued(t, many(waiting)...)
	// Every script is in Redis' cache, as in production; then it is filled up.
	b.start(t, slot.StartRequest{Owner: "e", Kick: 1, Jitter: 1})
	b.void(t, "none", 1, true)
	b.finish(t, ended(slot.Grant{}, "none", slot.Accept))
	b.inspect(t, "")
	for size := 16 << 10; size > 0; size /= 2 {
		var err error
		for i := 0; err == nil; i++ {
			err = b.rdb.Set(t.Context(), fmt.Sprintf("filler %d %d", size, i), strings.Repeat("x", size), 0).Err()
		}
		if !redisconn.IsFull(err) {
			t.Fatal(err)
		}
	}
	return b, running, tasks
}

func TestFullRedis(t *testing.T) {
	t.Parallel()
	t.Run("reserve fails whole: it says full, and nothing has changed", func(t *testing.T) {
		t.Parallel()
		b, _, _ := newFull(t, 3)
		before := b.dump(t)
		for _, immediate := range []bool{false, true} {
			req := ingest("new")
			req.Immediate = immediate
			if _, err := b.store.Reserve(t.Context(), b.lane, req); !redisconn.IsFull(err) {
				t.Errorf("reserve: %v, want that Redis is full", err)
			}
		}
		if diff := cmp.Diff(before, b.dump(t)); diff != "" {
			t.Errorf("state (-before +after):\n%s", diff)
		}
		b.lane.Key = "a new lane"
		if _, err := b.store.Reserve(t.Context(), b.lane, ingest("new")); !redisconn.IsFull(err) {
			t.Errorf("reserve in a new lane: %v, want that Redis is full", err)
		}
		if diff := cmp.Diff(map[string]map[string]string{}, b.dump(t)); diff != "" {
			t.Errorf("a new lane (-want +got):\n%s", diff)
		}
	})
	t.Run("what has been accepted goes on to its end", func(t *testing.T) {
		t.Parallel()
		b, running, tasks := newFull(t, 6)
		if _, ok, err := b.store.Renew(t.Context(), b.lane, running); !ok || err != nil {
			t.Errorf("renew: %t, %v", ok, err)
		}
		wantVerdict(t, b.start(t, tasks[0]).Verdict, slot.Wait)
		late := tasks[5]
		late.Left = -1
		wantVerdict(t, b.start(t, late).Verdict, slot.Snoozed)
		end := ended(running, "runs", slot.Accept)
		end.Response = []byte(strings.Repeat("r", 1000))
		wantVerdict(t, b.finish(t, end).Verdict, slot.OK)
		b.finish(t, ended(b.run(t, tasks[0]), tasks[0].Request, slot.Retry))
		b.clock.Advance(b.lane.BackoffMin)
		b.finish(t, ended(b.run(t, tasks[0]), tasks[0].Request, slot.Accept))
		if !b.confirm(t, tasks[2]) {
			t.Error("confirm refused")
		}
		wantVerdict(t, b.void(t, tasks[1].Request, tasks[1].Ticket, true), slot.Voided)
		if seq, _ := b.kick(t, tasks[2].Incarnation, 0, "kick"); seq == 0 {
			t.Error("kick refused")
		}
		state, _ := b.inspect(t, "")
		if res, err := b.store.Missing(t.Context(), b.lane, state.Next); err != nil || res.Verdict != slot.Again {
			t.Errorf("missing: %s, %v", res.Verdict, err)
		}
		b.clock.Advance(slot.MissingAfter)
		state.Next.Seen = b.clock.Now()
		if res, err := b.store.Settle(t.Context(), b.lane, state.Next, ""); err != nil || res.Verdict != slot.Voided {
			t.Errorf("settle: %s, %v", res.Verdict, err)
		}
	})
	t.Run("ending what waits gives memory back", func(t *testing.T) {
		t.Parallel()
		b, running, tasks := newFull(t, 100)
		before := b.bytes(t)
		b.finish(t, ended(running, "runs", slot.Accept))
		for _, task := range tasks {
			wantVerdict(t, b.void(t, task.Request, task.Ticket, true), slot.Voided)
		}
		if after := b.bytes(t); after > before/4 {
			t.Errorf("the lane holds %d bytes, and %d when all has ended", before, after)
		}
	})
	t.Run("the next to run is a matter of waiting, not of memory", func(t *testing.T) {
		t.Parallel()
		b, running, tasks := newFull(t, 50)
		b.finish(t, ended(running, "runs", slot.Accept))
		for _, task := range tasks {
			b.finish(t, ended(b.run(t, task), task.Request, slot.Accept))
			b.clock.Advance(time.Millisecond)
		}
		if state, _ := b.inspect(t, ""); state.Depth != 0 || state.Resolved != 51 {
			t.Errorf("depth %d, resolved %d, want 0 and 51", state.Depth, state.Resolved)
		}
	})
}

// bytes is what Redis spends on the lane's keys.
func (b *bundle) bytes(t testing.TB) (sum int64) {
	t.Helper()
	keys, err := slottest.Keys(t.Context(), b.rdb, b.lane.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		n, err := b.rdb.MemoryUsage(t.Context(), key, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
