package slot_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// bundle is a lane of its own on a Redis that other tests share, on a clock that stands still.
type bundle struct {
	rdb   *redis.Client
	clock *slottest.Clock
	store *slot.Store
	lane  slot.Lane
}

func paced(key string) slot.Lane {
	return slot.Lane{
		Key: key, Policy: "paced", Concurrency: 1, Burst: 1, Spacing: time.Second, Lease: 5 * time.Second,
		Retention: time.Hour, MaxDepth: 100, Attempts: 3, MaxAge: 24 * time.Hour,
		BackoffMin: time.Second, BackoffMax: 8 * time.Second,
	}
}

func setup(t *testing.T, rdb *redis.Client) *bundle {
	t.Helper()
	clock := slottest.NewClock(rdb)
	b := &bundle{rdb: rdb, clock: clock, store: slot.New(clock, slot.First, nil), lane: paced(t.Name())}
	// Every script leaves every key with an end.
	clock.After = func() {
		t.Helper()
		immortal, err := slottest.Immortal(context.Background(), rdb, b.lane.Key)
		if err != nil || len(immortal) > 0 {
			t.Errorf("keys that never expire: %v, error %v", immortal, err)
		}
	}
	return b
}

// both runs every story on miniredis and on a real Redis, each on a lane of its own.
func both(t *testing.T, stories map[string]func(*testing.T, *bundle)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		for name, story := range stories {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				story(t, setup(t, rdb))
			})
		}
	})
}

// ingest is what reserves request id: fingerprint and owner are its own.
func ingest(id string) slot.ReserveRequest {
	return slot.ReserveRequest{
		ID: id, Fingerprint: "print-" + id, Owner: "ingest-" + id, Submitted: time.UnixMilli(1796119200000), Target: "shop",
	}
}

func (b *bundle) reserve(t *testing.T, req slot.ReserveRequest) slot.Reservation {
	t.Helper()
	res, err := b.store.Reserve(t.Context(), b.lane, req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// queued reserves requests that have a task each, and returns those tasks.
func (b *bundle) queued(t *testing.T, ids ...string) []slot.StartRequest {
	t.Helper()
	var tasks []slot.StartRequest
	for _, id := range ids {
		res := b.reserve(t, ingest(id))
		wantVerdict(t, res.Verdict, slot.Reserved)
		tasks = append(tasks, slot.StartRequest{
			Ticket: res.Ticket, Incarnation: res.Incarnation, Request: id, Owner: "executor-" + id, Left: slot.InlineWait, Jitter: 1,
		})
	}
	return tasks
}

// immediate has ingest run request id at once.
func (b *bundle) immediate(t *testing.T, id string) slot.Grant {
	t.Helper()
	req := ingest(id)
	req.Immediate = true
	res := b.reserve(t, req)
	wantVerdict(t, res.Verdict, slot.Run)
	return res.Grant
}

func (b *bundle) start(t *testing.T, req slot.StartRequest) slot.Started {
	t.Helper()
	res, err := b.store.Start(t.Context(), b.lane, req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// run starts a ticket whose turn it is.
func (b *bundle) run(t *testing.T, req slot.StartRequest) slot.Grant {
	t.Helper()
	res := b.start(t, req)
	wantVerdict(t, res.Verdict, slot.Run)
	return res.Grant
}

// drive is the request of the executor that drives the lane's head.
func drive(h slot.Head) slot.StartRequest {
	return slot.StartRequest{Request: "driver", Owner: "driver", Drive: h.Ticket, DriveRequest: h.Request, Left: slot.InlineWait, Jitter: 1}
}

// ended is the request of an executor that ends an attempt of its own first task.
func ended(g slot.Grant, id string, outcome slot.Outcome) slot.FinishRequest {
	return slot.FinishRequest{Grant: g, Request: id, Outcome: outcome, Own: true, Counts: true, Jitter: 1}
}

func (b *bundle) finish(t *testing.T, req slot.FinishRequest) slot.Finished {
	t.Helper()
	res, err := b.store.Finish(t.Context(), b.lane, req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (b *bundle) void(t *testing.T, id string, ticket int64, atOnce bool) slot.Verdict {
	t.Helper()
	res, err := b.store.Void(t.Context(), b.lane, id, ticket, atOnce)
	if err != nil {
		t.Fatal(err)
	}
	return res.Verdict
}

func (b *bundle) confirm(t *testing.T, task slot.StartRequest) bool {
	t.Helper()
	ok, err := b.store.Confirm(t.Context(), b.lane, task.Request, task.Ticket, task.Incarnation)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func (b *bundle) inspect(t *testing.T, id string) (slot.State, slot.RequestState) {
	t.Helper()
	state, req, err := b.store.Inspect(t.Context(), b.lane, id)
	if err != nil {
		t.Fatal(err)
	}
	return state, req
}

func (b *bundle) dump(t *testing.T) map[string]map[string]string {
	t.Helper()
	dump, err := slottest.Dump(t.Context(), b.rdb, b.lane.Key)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// write sets scalars of the lane that no script of this package writes yet.
func (b *bundle) write(t *testing.T, pairs ...any) {
	t.Helper()
	if err := b.rdb.HSet(t.Context(), slot.KeysOf(b.lane.Key).State(), pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// expire ends the life of a record.
func (b *bundle) expire(t *testing.T, id string) {
	t.Helper()
	if err := b.rdb.Del(t.Context(), slot.KeysOf(b.lane.Key).Record(id)).Err(); err != nil {
		t.Fatal(err)
	}
}

func wantVerdict(t *testing.T, got, want slot.Verdict) {
	t.Helper()
	if got != want {
		t.Fatalf("verdict %s, want %s", got, want)
	}
}

// after is the Redis instant d after at.
func after(at int64, d time.Duration) int64 { return at + d.Milliseconds() }

// many makes n request ids.
func many(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("r%d", i)
	}
	return ids
}

// listen subscribes to the lane's wake-ups.
func (b *bundle) listen(t *testing.T) <-chan *redis.Message {
	t.Helper()
	ps := b.rdb.Subscribe(t.Context(), slot.KeysOf(b.lane.Key).Wake())
	t.Cleanup(func() { _ = ps.Close() })
	if _, err := ps.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ps.Channel()
}

func (b *bundle) publish(t *testing.T, text string) {
	t.Helper()
	if err := b.rdb.Publish(t.Context(), slot.KeysOf(b.lane.Key).Wake(), text).Err(); err != nil {
		t.Fatal(err)
	}
}

func wake(ticket, at int64) string { return fmt.Sprintf("%d %d", ticket, at) }
