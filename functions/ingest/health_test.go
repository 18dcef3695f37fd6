package ingest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/shutdown"
)

type health struct {
	Status string
	Checks map[string]string
}

// patient has checks whose outcome the test sets, on the time of a synctest bubble.
type patient struct {
	t                       *testing.T
	handler                 http.Handler
	looks                   atomic.Int64
	mu                      sync.Mutex
	redis, queue, firestore error
}

func newPatient(t *testing.T) *patient {
	p := &patient{t: t}
	look := func(err *error) ingest.Check {
		return func(context.Context) error {
			p.looks.Add(1)
			p.mu.Lock()
			defer p.mu.Unlock()
			return *err
		}
	}
	p.handler = openapitest.Handler(t, ingest.New(ingest.Config{
		Health: ingest.Health{Redis: look(&p.redis), Queue: look(&p.queue), Firestore: look(&p.firestore)},
		Clock:  clock.System{}, Drain: &shutdown.Drain{},
	}))
	return p
}

func (p *patient) set(err *error, to error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*err = to
}

func (p *patient) want(code int, status, redis, queue, firestore string) {
	p.t.Helper()
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/health", nil))
	want := health{status, map[string]string{"redis": redis, "queue": queue, "firestore": firestore}}
	if diff := cmp.Diff(want, body[health](p.t, w)); diff != "" || w.Code != code {
		p.t.Errorf("got %d, want %d; health (-want +got):\n%s", w.Code, code, diff)
	}
	if retry := w.Header().Get("Retry-After"); (retry != "") != (code == 503) {
		p.t.Errorf("%d with Retry-After %q", code, retry)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	t.Run("is starting, ok, then failing, and looks again after 5 s", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPatient(t)
			p.set(&p.queue, down)
			p.want(503, "starting", "ok", "starting", "ok")
			p.set(&p.queue, nil)
			p.want(503, "starting", "ok", "starting", "ok") // as looked at before
			time.Sleep(5 * time.Second)
			p.want(200, "ok", "ok", "ok", "ok")
			p.set(&p.redis, down)
			time.Sleep(4999 * time.Millisecond)
			p.want(200, "ok", "ok", "ok", "ok")
			time.Sleep(time.Millisecond)
			p.want(503, "failing", "failing", "ok", "ok")
		})
	})
	t.Run("fails rather than starts where both hold", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPatient(t)
			p.set(&p.firestore, down)
			p.want(503, "starting", "ok", "ok", "starting")
			p.set(&p.redis, down)
			time.Sleep(5 * time.Second)
			p.want(503, "failing", "failing", "ok", "starting")
		})
	})
	t.Run("waits 2 s for a check that hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			h := openapitest.Handler(t, ingest.New(ingest.Config{
				Health: ingest.Health{Redis: func(context.Context) error { <-hang; return nil }},
				Clock:  clock.System{}, Drain: &shutdown.Drain{},
			}))
			began := time.Now()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/health", nil))
			if diff := cmp.Diff(health{"starting", map[string]string{"redis": "starting"}}, body[health](t, w)); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("answered after %v", took)
			}
			close(hang)
		})
	})
	t.Run("is looked at once by a hundred callers", func(t *testing.T) {
		t.Parallel()
		p := newPatient(t)
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { p.want(200, "ok", "ok", "ok", "ok") })
		}
		callers.Wait()
		if n := p.looks.Load(); n != 3 {
			t.Errorf("%d looks, want one of each", n)
		}
	})
	t.Run("is ok where there is nothing to check", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		w := b.get("/v1/health")
		if diff := cmp.Diff(health{"ok", map[string]string{}}, body[health](t, w)); diff != "" || w.Code != 200 {
			t.Errorf("got %d; health (-want +got):\n%s", w.Code, diff)
		}
	})
}
