package slot_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// mixes are the lanes on which everything is tried.
func mixes(key string) []slot.Lane {
	lane := func(n, burst int, spacing time.Duration) slot.Lane {
		l := paced(key)
		l.Concurrency, l.Burst, l.Spacing = n, burst, spacing
		return l
	}
	return []slot.Lane{
		lane(1, 1, 0), lane(3, 1, 0), lane(1, 1, time.Second), lane(1, 3, time.Second), lane(3, 2, 700*time.Millisecond),
	}
}

func newWorld(t testing.TB, rdb *redis.Client, lane slot.Lane, pick func(int) int, edits ...slottest.Edit) (*slottest.World, *slottest.Resender) {
	clock := slottest.NewClock(rdb, edits...)
	resender := slottest.NewResender(clock, rdb, lane.Key, func() bool { return pick(8) == 0 })
	t.Cleanup(func() { forget(rdb, lane.Key) })
	return slottest.NewWorld(t.Context(), slot.New(resender, slot.First, nil), clock, lane, pick), resender
}

func forget(rdb *redis.Client, key string) {
	if keys, _ := slottest.Keys(context.Background(), rdb, key); len(keys) > 0 {
		rdb.Del(context.Background(), keys...)
	}
}

// live takes so many steps and then drains the lane; its journal verifies before and after.
func live(w *slottest.World, resender *slottest.Resender, steps int) error {
	for range steps {
		if err := w.Step(); err != nil {
			return err
		}
		if err := resender.Err(); err != nil {
			return err
		}
	}
	if err := w.Verify(); err != nil {
		return err
	}
	if err := w.Drain(); err != nil {
		return err
	}
	if err := w.Verify(); err != nil {
		return err
	}
	return resender.Err()
}

// TestWorld lets clients, ingest, executors and a queue do anything in any order, with crashes, pauses, ghosts and resends,
// and holds the answers against I1 to I5, every resend against I7, and the end against a lane that stands.
func TestWorld(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	var worlds atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "pick") }
		lanes := mixes(fmt.Sprintf("world %d", worlds.Add(1)))
		lane := lanes[pick(len(lanes))]
		lane.Park, lane.HoldAmbiguous = pick(4) == 0, pick(4) == 0
		w, resender := newWorld(t, rdb, lane, pick)
		defer forget(rdb, lane.Key)
		w.Faults, w.Losses, w.Steering = pick(2) == 0, pick(4) == 0, pick(3) == 0
		if err := live(w, resender, 70); err != nil {
			r.Fatal(err)
		}
	})
}

// TestWorldOnMiniredis lives through a few worlds only: miniredis compiles a script with every call.
func TestWorldOnMiniredis(t *testing.T) {
	t.Parallel()
	rdb := redistest.Client(t, redistest.Miniredis(t))
	for seed := range uint64(5) {
		if err := explore(t, rdb, seed); err != nil {
			t.Errorf("world %d: %v", seed, err)
		}
	}
}
