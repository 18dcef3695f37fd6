package functions_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// effects is a target that counts its runs of each request. A run begins, and ends when it is released or cut off.
type effects struct {
	*httptest.Server
	began, release chan struct{}
	mu             sync.Mutex
	runs           map[string]int
}

func newEffects(t *testing.T) *effects {
	t.Helper()
	e := &effects{began: make(chan struct{}, 100), release: make(chan struct{}), runs: map[string]int{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *effects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Seriatim-Request-Id")
	e.mu.Lock()
	e.runs[id]++
	n := e.runs[id]
	e.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	e.began <- struct{}{}
	select {
	case <-e.release:
		fmt.Fprintf(w, "%s, run %d", body, n)
	case <-r.Context().Done():
	}
}

// gated is both functions with durable records in Firestore, and gates around the executor.
type gated struct {
	*deployment
	*effects
	rdb     *redis.Client
	records *record.Firestore
	// answers lies between Cloud Tasks and the executor, scripts between that and Redis, store between that and Firestore.
	answers, scripts, store *gate
}

func newGated(t *testing.T, config firestoreconn.Config, lanePolicy string) *gated {
	t.Helper()
	target := newEffects(t)
	d := newDeployment(t, fmt.Sprintf("targets: {work: {url: %q}}\nlanes: [{match: '*', target: work, spacing: 0s, %s}]\n", target.URL, lanePolicy))
	options := *d.redis.Client().Options()
	options.Password = "a-password"
	conn := firestoreconn.New(config)
	t.Cleanup(func() { _ = conn.Close() })
	s := &gated{
		deployment: d, effects: target, rdb: redis.NewClient(&options), records: record.NewFirestore(conn, record.Options{}),
		answers: newGate(t, "127.0.0.1:"+d.ports["executor"]), scripts: newGate(t, d.redis.Addr()), store: newGate(t, config.Emulator),
	}
	t.Cleanup(func() { _ = s.rdb.Close() })
	if first, err := generation.NewFirestore(conn).First(t.Context()); err != nil { // whose generation newDeployment has installed
		t.Fatalf("first life %t, %v", first, err)
	}
	d.environment = append(d.environment, "SERIATIM_EXECUTOR_URL=http://"+s.answers.Addr().String(), "SERIATIM_FIRESTORE="+config.String())
	d.env = map[string][]string{
		"ingest": {"FIRESTORE_EMULATOR_HOST=" + config.Emulator},
		"executor": {
			"FIRESTORE_EMULATOR_HOST=" + s.store.Addr().String(),
			"SERIATIM_REDIS_URL=rediss://:a-password@" + s.scripts.Addr().String(),
		},
	}
	d.start(t, "ingest")
	d.start(t, "executor")
	return s
}

// submit queues a request whose payload is its idempotency key, and returns its id.
func (s *gated) submit(t *testing.T, name string) (id string) {
	t.Helper()
	got := s.call(t, http.MethodPost, "/v1/lanes/k/requests", name, "Prefer", "respond-async", "Idempotency-Key", name)
	if got.status != http.StatusAccepted {
		t.Fatalf("%d %s, want 202", got.status, got.body)
	}
	return got.header.Get("Seriatim-Request-Id")
}

// begins waits until a run does.
func (s *gated) begins(t *testing.T) {
	t.Helper()
	await(t, "a run begins", func() bool {
		select {
		case <-s.began:
			return true
		default:
			return false
		}
	})
}

// field is a field of a request's record in Redis.
func (s *gated) field(t *testing.T, id, name string) string {
	t.Helper()
	return s.rdb.HGet(t.Context(), slot.KeysOf("k").Record(id), name).Val()
}

// restart ends the executor at once and starts it again behind open gates. What between does happens while it is gone.
func (s *gated) restart(t *testing.T, between func()) {
	t.Helper()
	s.kill(t, "executor")
	between()
	for _, g := range []*gate{s.answers, s.scripts, s.store} {
		g.closed.Store(false)
	}
	s.start(t, "executor")
}

// settled waits until no task is left: nothing is stuck.
func (s *gated) settled(t *testing.T) {
	t.Helper()
	await(t, "no task is left", func() bool {
		stats := s.tasks.Stats()
		return stats.Waiting+stats.InFlight == 0
	})
}

// wantOne says that a request was run so often, with one result: to its reader, in Firestore, and to who sends it again.
func (s *gated) wantOne(t *testing.T, id, name string, runs int) {
	t.Helper()
	want := fmt.Sprintf("%s, run %d", name, runs)
	await(t, name+" is done", s.done(t, "k", id))
	if got := s.call(t, http.MethodGet, "/v1/lanes/k/requests/"+id+"/result", ""); got.status != http.StatusOK || got.body != want {
		t.Errorf("result: %d %q, want %q", got.status, got.body, want)
	}
	s.settled(t)
	r, found, err := s.records.Get(context.Background(), "k", id)
	if err != nil || !found || r.Status != record.Done || !strings.HasSuffix(string(r.Response), want) {
		t.Errorf("in Firestore: found %t, %v, %q %q, want %q", found, err, r.Status, r.Response, want)
	}
	again := s.call(t, http.MethodPost, "/v1/lanes/k/requests", name, "Prefer", "respond-async", "Idempotency-Key", name)
	if again.body != want || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("sent again: %d %q, want a replay of %q", again.status, again.body, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.runs[id]; got != runs {
		t.Errorf("%d runs, want %d", got, runs)
	}
}

// killedAfterAccept kills the executor when a request's record is durable and Cloud Tasks has not been answered; meanwhile happens
// before it is back. The request has its one result, and the lane goes on.
func (s *gated) killedAfterAccept(t *testing.T, meanwhile func()) {
	t.Helper()
	a := s.submit(t, "a")
	s.begins(t)
	s.answers.closed.Store(true)
	s.release <- struct{}{}
	await(t, "the record is durable", func() bool { return s.field(t, a, "durable") == "1" })
	s.restart(t, meanwhile)
	s.wantOne(t, a, "a", 1)
	b := s.submit(t, "b")
	s.begins(t)
	s.release <- struct{}{}
	s.wantOne(t, b, "b", 1)
}

// TestOneResultHoweverTheExecutorEnds kills it at every step of an attempt. Leases of 10 minutes show that nothing waits for one.
func TestOneResultHoweverTheExecutorEnds(t *testing.T) {
	t.Parallel()
	firestore := firestoretest.Start(t)
	for name, story := range map[string]struct {
		lease string
		run   func(*testing.T, *gated)
	}{
		"between accept and the 200": {"10m", func(t *testing.T, s *gated) { s.killedAfterAccept(t, func() {}) }},
		// The lease bounds the quarantine.
		"between accept and the 200, and Redis is emptied": {"5s", func(t *testing.T, s *gated) {
			s.killedAfterAccept(t, func() {
				if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			})
		}},
		"between accept and Firestore": {"10m", func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.store.closed.Store(true)
			s.answers.closed.Store(true)
			s.release <- struct{}{}
			await(t, "it is accepted", func() bool { return s.field(t, a, "status") == "done" })
			s.restart(t, func() {})
			s.wantOne(t, a, "a", 1)
		}},
		"Firestore is away after the effect": {"10m", func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.store.closed.Store(true)
			s.release <- struct{}{}
			await(t, "a flush task is made", func() bool { return s.tasks.Stats().Created == 2 })
			s.store.closed.Store(false)
			s.wantOne(t, a, "a", 1)
		}},
		"in the handler": {"5s", func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.restart(t, func() {})
			s.begins(t)
			s.release <- struct{}{}
			s.wantOne(t, a, "a", 2)
		}},
		"between handler and accept": {"5s", func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.scripts.closed.Store(true)
			s.release <- struct{}{}
			before := s.scripts.swallowed.Load()
			await(t, "its end is reported to nobody", func() bool { return s.scripts.swallowed.Load() > before })
			s.restart(t, func() {})
			s.begins(t)
			s.release <- struct{}{}
			s.wantOne(t, a, "a", 2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story.run(t, newGated(t, firestore.Config(), "lease: "+story.lease))
		})
	}
}
