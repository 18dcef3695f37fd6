package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

const testKey = "tenant-42:product-7"

// fixture is an Executor over real scripts, a queue that can be told to fail, and a Go target.
type fixture struct {
	*Executor
	t     *testing.T
	slots *slot.Store
	queue *fakeQueue
	lane  lane.Lane
	keys  taskqueue.Keys
	// calls are the requests that the target got; what it answers is behave's.
	calls   chan target.Request
	behave  func(context.Context, target.Request) (target.Response, error)
	records *fakeRecords
	events  func(Event) int
	missing func() (bool, error)
	rdb     *redis.Client
	steps   *steps
}

// setup makes a fixture; lanePolicy is the rest of the lane's policy, such as "spacing: 0s, concurrency: 2".
func setup(t *testing.T, rdb *redis.Client, lanePolicy string) *fixture {
	t.Helper()
	doc, err := policy.Parse([]byte(fmt.Sprintf(
		"targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: 'tenant-*', target: work, %s}]\n", lanePolicy)), nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := taskqueue.ParseKeys("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	b := &fixture{t: t, rdb: rdb, slots: slot.New(rdb, slot.First, nil), queue: newFakeQueue(), keys: keys, calls: make(chan target.Request, 1000), records: &fakeRecords{Memory: record.NewMemory(time.Now)}}
	if b.lane, err = lane.Bind(doc, testKey); err != nil {
		t.Fatal(err)
	}
	b.behave = func(context.Context, target.Request) (target.Response, error) { return target.Response{}, nil }
	b.missing = func() (bool, error) { return true, nil }
	targets := &target.Set{}
	targets.Register("work", func(ctx context.Context, r target.Request) (target.Response, error) {
		b.calls <- r
		return b.behave(ctx, r)
	})
	hub := slot.NewHub(rdb)
	t.Cleanup(func() { _ = hub.Close() })
	var mu sync.Mutex
	counts := map[Event]int{}
	b.events = func(e Event) int { mu.Lock(); defer mu.Unlock(); return counts[e] }
	system := clock.System{}
	b.steps = &steps{Store: b.slots}
	records := lane.Records{Store: b.records, Slots: b.slots, Dead: slot.NewDeadLetters(rdb), Queue: b.queue, Clock: system}
	b.Executor = New(Config{
		Policy: doc, Slots: b.slots, Holes: b.slots, Inspector: b.slots, Queue: b.queue, Opener: keys, Wakes: hub,
		Records:      records,
		Runner:       &lane.Runner{Slots: b.steps, Targets: targets, Decider: &lane.Decider{Slots: b.steps, Records: records}, Clock: system, Random: system},
		Tasks:        lane.Tasks{Queue: b.queue, Kicks: b.slots, Clock: system, Random: system},
		CountMissing: func(context.Context) (bool, error) { return b.missing() },
		Exchange:     func(context.Context, string) error { return nil },
		Observe:      func(e Event) { mu.Lock(); defer mu.Unlock(); counts[e]++ },
		Lanes:        func(ctx context.Context) ([]string, error) { return slot.Lanes(ctx, rdb) },
		Drain:        &shutdown.Drain{}, Clock: system, Random: system,
	})
	return b
}

// submit reserves a request and creates its task, as ingest does.
func (b *fixture) submit(id string) taskqueue.Envelope {
	b.t.Helper()
	return b.submitUntil(id, time.Time{})
}

// submitUntil is submit with a deadline.
func (b *fixture) submitUntil(id string, deadline time.Time) taskqueue.Envelope {
	b.t.Helper()
	e := b.reserveUntil(id, deadline)
	if _, err := b.queue.Create(b.t.Context(), taskqueue.Task{
		ID: taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, 0), Envelope: e,
	}); err != nil {
		b.t.Fatal(err)
	}
	return e
}

// reserve takes a ticket and creates no task: ingest died in between.
func (b *fixture) reserve(id string) taskqueue.Envelope {
	b.t.Helper()
	return b.reserveUntil(id, time.Time{})
}

func (b *fixture) reserveUntil(id string, deadline time.Time) taskqueue.Envelope {
	b.t.Helper()
	r, err := b.slots.Reserve(b.t.Context(), b.lane.Slot, slot.ReserveRequest{
		ID: id, Fingerprint: "f", Owner: "ingest-" + id, Submitted: time.Now(), Target: "work", Deadline: deadline,
	})
	if err != nil || r.Verdict != slot.Reserved {
		b.t.Fatalf("reserve %s: %v %v", id, r.Verdict, err)
	}
	return taskqueue.Envelope{
		V: taskqueue.Version, Kind: taskqueue.KindRequest, Key: testKey, Incarnation: r.Incarnation, Ticket: r.Ticket, ID: id,
		Target: "work", Fingerprint: "f", Submitted: time.Now().UTC(), Deadline: deadline, Body: []byte("body of " + id),
	}
}

// grant starts a request in the name of an executor that then dies.
func (b *fixture) grant(e taskqueue.Envelope) slot.Grant {
	b.t.Helper()
	v, err := b.slots.Start(b.t.Context(), b.lane.Slot, slot.StartRequest{
		Ticket: e.Ticket, Incarnation: e.Incarnation, Request: e.ID, Owner: "dead", Left: time.Second, Jitter: 1,
	})
	if err != nil || v.Verdict != slot.Run {
		b.t.Fatalf("grant %s: %v %v", e.ID, v.Verdict, err)
	}
	return v.Grant
}

func (b *fixture) status(id string) slot.Status {
	b.t.Helper()
	_, r, err := b.slots.Inspect(b.t.Context(), b.lane.Slot, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.Status
}

// post delivers a sealed body over HTTP.
func (b *fixture) post(body []byte, mac string) int {
	b.t.Helper()
	req := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, "/executor", bytes.NewReader(body))
	req.Header.Set(taskqueue.MACHeader, mac)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, req)
	return w.Code
}

// fakeQueue holds tasks in memory and can be told to fail.
type fakeQueue struct {
	mu        sync.Mutex
	tasks     map[string]taskqueue.Task
	createErr error
	getErr    error
	state     taskqueue.QueueState
	stateErr  error
	gets      int
	onCreate  func(taskqueue.Task)
}

func newFakeQueue() *fakeQueue {
	return &fakeQueue{tasks: map[string]taskqueue.Task{}, state: taskqueue.Running}
}

func (q *fakeQueue) Create(_ context.Context, t taskqueue.Task) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.createErr != nil {
		return false, q.createErr
	}
	_, there := q.tasks[t.ID]
	if !there {
		q.tasks[t.ID] = t
		if q.onCreate != nil {
			q.onCreate(t)
		}
	}
	return !there, nil
}

func (q *fakeQueue) Get(_ context.Context, id string) (taskqueue.Envelope, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gets++
	if q.getErr != nil {
		return taskqueue.Envelope{}, q.getErr
	}
	t, ok := q.tasks[id]
	if !ok {
		return taskqueue.Envelope{}, taskqueue.ErrNotFound
	}
	return t.Envelope, nil
}

func (q *fakeQueue) State(context.Context) (taskqueue.QueueState, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state, q.stateErr
}

// of returns the tasks of a kind, earliest schedule first.
func (q *fakeQueue) of(kind taskqueue.Kind) []taskqueue.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.SortedFunc(maps.Values(q.tasks), func(a, b taskqueue.Task) int { return a.At.Compare(b.At) })
	return slices.DeleteFunc(all, func(t taskqueue.Task) bool { return t.Envelope.Kind != kind })
}

// fakeRecords are durable records that can be told to fail.
type fakeRecords struct {
	*record.Memory
	err error
	// on is called around each Put, before and after, where it is set; its error is that of Put.
	on         func(after bool) error
	puts, gets atomic.Int64
}

func (f *fakeRecords) Get(ctx context.Context, key, id string) (record.Record, bool, error) {
	f.gets.Add(1)
	if f.err != nil {
		return record.Record{}, false, f.err
	}
	return f.Memory.Get(ctx, key, id)
}

func (f *fakeRecords) Put(ctx context.Context, r record.Record) (record.Record, error) {
	f.puts.Add(1)
	if f.err != nil {
		return record.Record{}, f.err
	}
	on := f.on
	if on == nil {
		return f.Memory.Put(ctx, r)
	}
	if err := on(false); err != nil {
		return record.Record{}, err
	}
	held, err := f.Memory.Put(ctx, r)
	return held, errors.Join(err, on(true))
}

// ended stores how a request ended, in an earlier life of Redis.
func (b *fixture) ended(id string, ticket int64) {
	b.t.Helper()
	_, err := b.records.Memory.Put(b.t.Context(), record.Record{
		Key: testKey, ID: id, Ticket: ticket, Status: record.Done, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
