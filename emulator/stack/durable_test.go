package stack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

// durable is the whole on a real Redis and Google's Firestore emulator, three instances of each function. The target numbers
// its runs per request.
type durable struct {
	*stack.Stack
	t         *testing.T
	redis     *redistest.Server
	firestore *firestoretest.Server

	mu   sync.Mutex
	runs map[string]int
}

func newDurable(t *testing.T) *durable {
	t.Helper()
	d := &durable{t: t, redis: redistest.Start(t), firestore: firestoretest.Start(t), runs: map[string]int{}}
	work := &target.Set{}
	work.Register("work", func(_ context.Context, r target.Request) (target.Response, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.runs[string(r.Body)]++
		return target.Response{Status: 201, Body: fmt.Appendf(nil, "%s, run %d\x00\xff", r.Body, d.runs[string(r.Body)])}, nil
	})
	var err error
	d.Stack, err = stack.Start(t.Context(), stack.Options{
		Redis: d.redis.URL(), Firestore: d.firestore.Addr(), Instances: 3, Functions: work,
		Config: func(string) string {
			return "targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: '*', target: work, spacing: 0s}]\n"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // its Redis may be gone
	return d
}

// answer is what a client gets.
type answer struct {
	Status     int
	Word, Body string
}

// submit sends a request whose body is its idempotency key.
func (d *durable) submit(key string, headers ...string) (answer, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.URL+"/v1/lanes/k/requests", strings.NewReader(key))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return d.do(r)
}

func (d *durable) do(r *http.Request) (answer, string) {
	client := http.Client{Transport: openapitest.Transport(d.t, http.DefaultTransport)}
	resp, err := client.Do(r)
	if err != nil {
		d.t.Error(err)
		return answer{}, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Seriatim-Status"), string(body)}, resp.Header.Get("Seriatim-Request-Id")
}

func (d *durable) want(what string, got, want answer) {
	d.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (d *durable) wantOneRun(keys ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		if d.runs[key] != 1 {
			d.t.Errorf("%s has run %d times, want once", key, d.runs[key])
		}
	}
}

// awaits polls until the record store knows the request.
func (d *durable) awaits(id string) {
	d.t.Helper()
	for {
		_, found, err := d.Parts[0].Records.Lookup(d.t.Context(), "k", id)
		if err == nil && found {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-d.t.Context().Done():
			d.t.Fatalf("no durable record of %s: %v", id, err)
		}
	}
}

func TestWhatEndedOutlivesRedis(t *testing.T) {
	t.Parallel()
	d := newDurable(t)
	first := answer{201, "done", "one, run 1\x00\xff"}

	// Fifty callers of one idempotency key.
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			got, _ := d.submit("one", "Prefer: wait=30")
			d.want("one of fifty", got, first)
		})
	}
	callers.Wait()
	d.wantOneRun("one")

	// A request that ran from its task, too.
	got, id := d.submit("two", "Prefer: respond-async")
	if got.Status != http.StatusAccepted {
		t.Fatalf("async: %+v", got)
	}
	second := answer{201, "done", "two, run 1\x00\xff"}
	d.awaits(id)

	// Firestore stands still: the effect has happened, the answer comes, and the record follows.
	d.firestore.Pause()
	got, id = d.submit("three")
	third := answer{201, "done", "three, run 1\x00\xff"}
	d.want("without Firestore", got, third)
	d.firestore.Resume()
	d.awaits(id)

	// Redis is emptied: neither the client's next try nor anything else runs them again. The test does not wait out the quarantine.
	rdb := d.redis.Client()
	emptied := func(context.Context) (bool, error) { return false, nil }
	if err := errors.Join(rdb.FlushAll(t.Context()).Err(), generation.Install(t.Context(), rdb, emptied)); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Parts {
		if err := p.Generation.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got, _ = d.submit("one")
		d.want("after the loss", got, first)
		got, _ = d.submit("two")
		d.want("after the loss", got, second)
	}
	d.wantOneRun("one", "two")

	// Redis is gone: what ended is answered, new work is refused.
	d.redis.Kill()
	got, _ = d.submit("three")
	d.want("without Redis", got, third)
	if got, _ = d.submit("new"); got.Status != http.StatusServiceUnavailable {
		t.Errorf("new work without Redis: %+v, want 503", got)
	}
	d.wantOneRun("one", "two", "three")
}
