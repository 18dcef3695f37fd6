package functions_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// blocking is a target whose first call of each key hangs until the test ends; it records all calls.
type blocking struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
	began chan call
	hang  chan struct{}
}

type call struct {
	key, id        string
	fence, attempt int64
}

func newBlocking(t *testing.T) *blocking {
	t.Helper()
	b := &blocking{began: make(chan call, 100), hang: make(chan struct{})}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	t.Cleanup(func() { close(b.hang) }) // before Close, which waits
	return b
}

func (b *blocking) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c := call{key: r.Header.Get("Seriatim-Key"), id: r.Header.Get("Seriatim-Request-Id")}
	c.fence, _ = strconv.ParseInt(r.Header.Get("Seriatim-Fence"), 10, 64)
	c.attempt, _ = strconv.ParseInt(r.Header.Get("Seriatim-Attempt"), 10, 64)
	b.mu.Lock()
	first := true
	for _, before := range b.calls {
		first = first && before.key != c.key
	}
	b.calls = append(b.calls, c)
	b.mu.Unlock()
	b.began <- c
	if first {
		<-b.hang
	}
}

func (b *blocking) document() string {
	return fmt.Sprintf("targets: {work: {url: %q}}\nlanes: [{match: '*', target: work, spacing: 0s, lease: 5s}]\n", b.URL)
}

func (d *deployment) kill(t *testing.T, name string) {
	t.Helper()
	p := d.running[name]
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
}

func (d *deployment) done(t *testing.T, key, id string) func() bool {
	return func() bool { return d.state(t, key, id).Status == "done" }
}

func TestAKilledExecutorLosesNothing(t *testing.T) {
	t.Parallel()
	target := newBlocking(t)
	d := deploy(t, target.document())
	a := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "a", "Prefer", "respond-async").header.Get("Seriatim-Request-Id")
	first := <-target.began
	b := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "b", "Prefer", "respond-async").header.Get("Seriatim-Request-Id")
	d.kill(t, "executor")
	d.start(t, "executor")
	// The lease lapses, the lane goes on where it stood: a again, under a higher fence, then b.
	again, next := <-target.began, <-target.began
	if again.id != a || again.fence <= first.fence || again.attempt != 2 {
		t.Errorf("took over %+v, want %s with a fence above %d, attempt 2", again, a, first.fence)
	}
	if next.id != b || next.fence <= again.fence {
		t.Errorf("then %+v, want %s with a fence above %d", next, b, again.fence)
	}
	await(t, "both done", func() bool { return d.done(t, "k", a)() && d.done(t, "k", b)() })
}

func TestAKilledIngestLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	target := newBlocking(t)
	d := deploy(t, target.document())
	// It dies while the target works: the client does not know, and sends again.
	died := make(chan error, 1)
	go func() {
		_, err := http.Post(d.url("ingest")+"/v1/lanes/k/requests", "text/plain", nil)
		died <- err
	}()
	first := <-target.began
	d.kill(t, "ingest")
	if err := <-died; err == nil {
		t.Error("the client was answered by a dead process")
	}
	d.start(t, "ingest")
	// Nobody was told that the first request is taken, so it may be given up: what comes after must run all the same.
	id := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "next").header.Get("Seriatim-Request-Id")
	for c := range target.began {
		if c.fence <= first.fence {
			t.Errorf("fence %d after %d", c.fence, first.fence)
		}
		if c.id == id {
			break
		}
	}
	await(t, "the next request is done", d.done(t, "k", id))
}

func TestAHoleOfAKilledIngestHeals(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	d := newDeployment(t, fmt.Sprintf("targets: {work: {url: %q}}\nlanes: [{match: '*', target: work, spacing: 0s, respond: async}]\n", target.URL))
	g := newGate(t, d.tasks.Addr())
	d.endpoints["ingest"] = g.Addr().String()
	d.start(t, "ingest")
	d.start(t, "executor")
	// The connection stands, and a first request has gone through.
	warm := d.call(t, http.MethodPost, "/v1/lanes/warm/requests", "x").header.Get("Seriatim-Request-Id")
	await(t, "the first request is done", d.done(t, "warm", warm))

	// Ingest dies between its ticket and its task, twice.
	g.closed.Store(true)
	for _, key := range []string{"alone", "repeated"} {
		go func() {
			req, _ := http.NewRequest(http.MethodPost, d.url("ingest")+"/v1/lanes/"+key+"/requests", nil)
			req.Header.Set("Idempotency-Key", `"lost"`)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		await(t, "the ticket is taken", func() bool {
			got := d.call(t, http.MethodGet, "/v1/lanes/"+key, "")
			return got.status == http.StatusOK && strings.Contains(got.body, `"depth":1`)
		})
	}
	d.kill(t, "ingest")
	d.endpoints["ingest"] = d.tasks.Addr()
	d.start(t, "ingest")

	// A client that sends again makes its request durable itself: it keeps its place.
	lost := d.call(t, http.MethodPost, "/v1/lanes/repeated/requests", "", "Idempotency-Key", `"lost"`).header.Get("Seriatim-Request-Id")
	after := d.call(t, http.MethodPost, "/v1/lanes/repeated/requests", "after").header.Get("Seriatim-Request-Id")
	await(t, "the repeated request is done", d.done(t, "repeated", lost))
	await(t, "the request after it is done", d.done(t, "repeated", after))
	// Nobody sends again: past its deadline the place is given up, and the lane goes on.
	next := d.call(t, http.MethodPost, "/v1/lanes/alone/requests", "next").header.Get("Seriatim-Request-Id")
	began := time.Now()
	await(t, "the request behind the hole is done", d.done(t, "alone", next))
	t.Logf("the hole took %s to heal", time.Since(began).Round(time.Second))
}
