package executor

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// lose empties the Redis of b; what marks keep is restored.
func (b *fixture) lose(rdb *redis.Client, kept *lane.Marks) {
	b.t.Helper()
	if err := rdb.FlushAll(b.t.Context()).Err(); err != nil {
		b.t.Fatal(err)
	}
	store := slot.New(rdb, slot.Fixed{Number: 2, RestoreUntil: time.Now().Add(32 * 24 * time.Hour).UnixMilli()}, nil)
	store.Restore = kept.Restore
	b.slots = store
	b.Slots, b.Holes, b.Inspector = store, store, store
	b.Runner.Slots, b.Tasks.Kicks = store, store
}

func TestTasksRebuildTheLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, "spacing: 0s")
		old := []taskqueue.Envelope{b.submit("a"), b.submit("b"), b.submit("c")}
		b.lose(rdb, nil)
		for _, i := range []int{1, 2, 0} {
			if got := b.Deliver(t.Context(), old[i]); got != http.StatusOK {
				t.Errorf("old task of %s: %d, want 200: its successor is durable", old[i].ID, got)
			}
		}
		if len(b.calls) != 0 {
			t.Fatalf("%d runs, want none before the new tasks", len(b.calls))
		}
		fresh := b.submit("d")
		for _, e := range append(b.queue.of(taskqueue.KindRequest), taskqueue.Task{Envelope: fresh}) {
			if e.Envelope.Incarnation == fresh.Incarnation {
				b.Deliver(t.Context(), e.Envelope)
			}
		}
		var ran []string
		close(b.calls)
		for r := range b.calls {
			ran = append(ran, string(r.Body))
		}
		if want := []string{"body of a", "body of b", "body of c", "body of d"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

// 503 slows the whole queue down: a lane whose marks cannot be read must not.
func TestALaneWhoseMarksCannotBeReadIsNo503(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, "spacing: 0s")
		e := b.submit("a")
		b.lose(rdb, nil)
		store := b.slots
		for _, err := range []error{errors.New("permission denied"), context.DeadlineExceeded} {
			store.Restore = func(context.Context, string) (slot.Marks, error) { return slot.Marks{}, err }
			b.delivers(e, http.StatusConflict)
		}
		store.Restore = nil
		b.delivers(e, http.StatusOK)
	})
}

// Nor must a lane whose keys somebody has broken.
func TestALaneThatCannotBeReadIsNo503(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, "spacing: 0s")
		e := b.submit("a")
		if err := rdb.Set(t.Context(), slot.KeysOf(testKey).State(), "no hash", 0).Err(); err != nil {
			t.Fatal(err)
		}
		b.delivers(e, http.StatusConflict)
	})
}

func TestAParkedHeadOutlivesRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, "spacing: 0s, attempts: 1, exhausted: park")
		kept := lane.NewMarks(marks.NewMemory(time.Now), b.slots)
		b.Tasks.Marks = kept
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: http.StatusInternalServerError}, nil
		}
		e := b.submit("a")
		if got := b.Deliver(t.Context(), e); got != http.StatusOK || len(b.calls) != 1 {
			t.Fatalf("%d after %d runs, want the lane parked after one", got, len(b.calls))
		}
		b.lose(rdb, kept)
		for _, task := range b.queue.of(taskqueue.KindRequest) { // the old ones, then what they left
			b.Deliver(t.Context(), task.Envelope)
		}
		for _, task := range b.queue.of(taskqueue.KindRequest) {
			b.Deliver(t.Context(), task.Envelope)
		}
		state, _, err := b.slots.Inspect(t.Context(), b.lane.Slot, "")
		if err != nil || state.Stands != slot.StandsParked || len(b.calls) != 1 {
			t.Errorf("the lane stands on %q after %d runs, %v; want it parked after one", state.Stands, len(b.calls), err)
		}
	})
}
