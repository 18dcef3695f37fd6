package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

const configuration = `
targets:
  work: {url: %[1]q, forward: [X-Tenant]}
  hasty: {url: %[1]q, timeout: 1s}
  other: {url: %[1]q}
  capped: {url: %[1]q, immediate: false}
  held.back: {url: %[1]q}
lanes:
  - {match: "paced-*", target: work, spacing: 60s}
  - {match: "small-*", target: work, spacing: 60s, max_depth: 2}
  - {match: "far-*", target: work, spacing: 24h}
  - {match: "async-*", target: work, spacing: 0s, respond: async}
  - {match: "capped-*", target: capped, spacing: 0s}
  - {match: "once-*", target: work, spacing: 0s, attempts: 1}
  - {match: "hasty-*", target: hasty, spacing: 0s, attempts: 1}
  - {match: "brief-*", target: work, spacing: 0s, lease: 5s}
  - {match: "pair-*", target: work, spacing: 0s, concurrency: 2}
  - {match: "parks-*", target: work, spacing: 0s, exhausted: park}
  - {match: "holds-*", target: work, spacing: 0s, ambiguous: hold, lease: 5s}
  - {match: "back-*", target: held.back, spacing: 0s}
  - {match: "fleeting-*", target: work, spacing: 0s, durable: false}
  - {match: "decided-*", target: work, spacing: 0s, decide: firestore}
  - {match: "judged-*", target: work, spacing: 0s, lease: 5s, ambiguous: hold, decide: firestore}
  - {match: "lane-*", target: work, targets: [work, other], spacing: 0s}
`

// bundle is one instance of ingest on a Redis, with everything around it under the test's control.
type bundle struct {
	t          *testing.T
	rdb        *redis.Client
	store      *slot.Store
	generation *generation
	paused     *slot.PausedTargets
	hub        *slot.Hub
	slots      *slots
	queue      *queue
	target     *worker
	clock      *skewed
	random     clock.Random
	records    *records
	drain      *shutdown.Drain
	log        *lines
	config     ingest.Config
	handler    http.Handler
	doc        *policy.Document
}

func setup(t *testing.T) *bundle {
	t.Helper()
	m := redistest.Miniredis(t)
	m.ClockTTL(true)
	return setupOn(t, redistest.Client(t, m))
}

func setupOn(t *testing.T, rdb *redis.Client) *bundle {
	t.Helper()
	b := &bundle{
		t: t, rdb: rdb, generation: &generation{Generation: slot.Generation(slot.First)}, queue: &queue{}, target: &worker{}, clock: &skewed{},
		random: clock.System{}, records: &records{Memory: record.NewMemory(time.Now)}, drain: &shutdown.Drain{}, log: &lines{},
	}
	b.store = slot.New(rdb, b.generation, nil)
	server := httptest.NewServer(b.target)
	t.Cleanup(server.Close)
	doc, err := policy.Parse(fmt.Appendf(nil, configuration, server.URL), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	b.doc, b.slots = doc, &slots{Store: b.store}
	b.paused, b.hub = slot.NewPausedTargets(rdb, b.clock.Now), slot.NewHub(rdb)
	b.store.Paused = b.paused.List
	t.Cleanup(func() { _ = b.hub.Close() })
	targets := &target.Set{}
	for name, d := range doc.Targets {
		h, err := target.New(target.Config{
			Name: name, URL: d.URL, Timeout: d.Timeout, Retryable: d.Retry.Retryable, RetryTimeout: true, RetryRefused: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		if err := targets.Add(name, h); err != nil {
			t.Fatal(err)
		}
	}
	decider := &lane.Decider{Slots: b.slots}
	decider.Records = lane.Records{Store: b.records, Slots: b.slots, Dead: slot.NewDeadLetters(rdb), Queue: b.queue, Clock: b.clock}
	b.config = ingest.Config{
		Policy: doc, Slots: b.slots, Inspector: b.slots, Steering: b.slots, Drain: b.drain, Clock: b.clock, Random: b.random,
		Records:       decider.Records,
		Runner:        &lane.Runner{Slots: b.slots, Targets: targets, Decider: decider, Clock: b.clock, Random: b.random},
		Bodies:        b.queue,
		Tasks:         lane.Tasks{Queue: b.queue, Kicks: b.slots, Clock: b.clock, Random: b.random},
		Exchange:      func(context.Context, string) error { return nil },
		PausedTargets: b.paused, Ends: b.hub,
	}
	b.serve(b.config)
	return b
}

// generation is what the instance knows of Redis.
type generation struct {
	sync.Mutex
	slot.Generation
}

func (g *generation) Current() (slot.Generation, error) {
	g.Lock()
	defer g.Unlock()
	return g.Generation, nil
}
func (g *generation) Refresh(context.Context) error       { return nil }
func (g *generation) Verify(context.Context, int64) error { return nil }

// lose empties Redis, which the instance notices. There is no quarantine.
func (b *bundle) lose() {
	b.t.Helper()
	if err := b.rdb.FlushAll(b.t.Context()).Err(); err != nil {
		b.t.Fatal(err)
	}
	b.generation.Lock()
	defer b.generation.Unlock()
	b.generation.Number++
	b.generation.RestoreUntil = time.Now().Add(32 * 24 * time.Hour).UnixMilli()
}

// serve makes the instance one of config. Whatever it answers is checked against the API description.
func (b *bundle) serve(config ingest.Config) {
	b.handler = openapitest.Handler(b.t, ingest.New(config))
}

// header is one header of a call.
type header struct{ name, value string }

// call sends one call to the handler, without a network.
func (b *bundle) call(method, path, body string, headers ...header) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, h := range headers {
		r.Header.Add(h.name, h.value)
	}
	r = r.WithContext(logging.WithContext(r.Context(), logging.New(b.log, "")))
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func (b *bundle) submit(key string, headers ...header) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.call("POST", "/v1/lanes/"+key+"/requests", "payload", headers...)
}

func (b *bundle) get(path string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.call("GET", path, "")
}

func once(key string) header { return header{"Idempotency-Key", key} }

var async = header{"Prefer", "respond-async"}

// lane is the lane as scripts know it.
func (b *bundle) lane(key string) slot.Lane {
	b.t.Helper()
	l, err := lane.Bind(b.doc, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return l.Slot
}

// inspect reads the lane, and the request where id is not empty.
func (b *bundle) inspect(key, id string) (slot.State, slot.RequestState) {
	b.t.Helper()
	s, r, err := b.store.Inspect(context.Background(), b.lane(key), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return s, r
}

// occupy starts a request that runs until the test ends or release is called.
func (b *bundle) occupy(key string) (release func()) { b.t.Helper(); return b.occupyWith(key) }

func (b *bundle) occupyWith(key string, headers ...header) (release func()) {
	b.t.Helper()
	running, hold := make(chan struct{}), make(chan struct{})
	b.target.next(func(w http.ResponseWriter, r *http.Request) {
		close(running)
		<-hold
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.submit(key, headers...)
	}()
	<-running
	release = sync.OnceFunc(func() { close(hold); <-ended })
	b.t.Cleanup(release)
	return release
}

// body decodes a JSON answer.
func body[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("answer %d %q is no JSON: %v", w.Code, w.Body, err)
	}
	return v
}

// accepted is the body of a 202.
type accepted struct {
	ID, Key  string
	Ticket   int64
	Status   string
	Position int64
	Slot     time.Time
}

func (a accepted) path() string { return "/v1/lanes/" + a.Key + "/requests/" + a.ID }

// wantStatus checks status and Seriatim-Status.
func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int, word string) {
	t.Helper()
	if w.Code != status || w.Header().Get("Seriatim-Status") != word {
		t.Fatalf("got %d, Seriatim-Status %q, want %d, %q; body %s", w.Code, w.Header().Get("Seriatim-Status"), status, word, w.Body)
	}
}

func wantAccepted(t *testing.T, w *httptest.ResponseRecorder) accepted {
	t.Helper()
	wantStatus(t, w, 202, "queued")
	return body[accepted](t, w)
}

// wantProblem checks that an answer is the problem of that name, with something to do in it.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, name problem.Name) {
	t.Helper()
	var p struct {
		Type, Detail string
		Status       int
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("answer %d %q is no JSON: %v", w.Code, w.Body, err)
	}
	got := map[string]any{"code": w.Code, "status": p.Status, "type": p.Type, "content": w.Header().Get("Content-Type")}
	want := map[string]any{"code": status, "status": status, "type": name.URI(), "content": "application/problem+json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("problem (-want +got):\n%s\n%s", diff, w.Body)
	}
	if p.Detail == "" {
		t.Error("the problem does not say what to do")
	}
	if w.Header().Get("Seriatim-Status") == "" {
		t.Error("no Seriatim-Status")
	}
	if status == 503 && w.Header().Get("Retry-After") == "" {
		t.Error("a 503 without Retry-After")
	}
}

// waitRedis returns once that much Redis time has passed.
func (b *bundle) waitRedis(d time.Duration) {
	b.t.Helper()
	began := b.rdb.Time(context.Background()).Val()
	for b.rdb.Time(context.Background()).Val().Sub(began) < d {
	}
}
