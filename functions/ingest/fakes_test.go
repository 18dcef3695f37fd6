package ingest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// skewed is the system's clock with an offset that a test can move.
type skewed struct {
	clock.System
	offset atomic.Int64
}

func (s *skewed) Now() time.Time          { return time.Now().Add(time.Duration(s.offset.Load())) }
func (s *skewed) advance(d time.Duration) { s.offset.Add(int64(d)) }

// worker is the target. It answers 200 and the body it got, unless next said otherwise.
type worker struct {
	mu    sync.Mutex
	queue []http.HandlerFunc
	got   []*http.Request
}

func (k *worker) next(f http.HandlerFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, f)
}

func (k *worker) answer(status int, text string) {
	k.next(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

func (k *worker) calls() []*http.Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.got
}

func (k *worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.Copy(w, r.Body)
	})
	k.mu.Lock()
	k.got = append(k.got, r.Clone(context.Background()))
	if len(k.queue) > 0 {
		f, k.queue = k.queue[0], k.queue[1:]
	}
	k.mu.Unlock()
	f(w, r)
}

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// records are durable records, empty unless a test fills them.
type records struct{ slot.Record }

func (r *records) Lookup(_ context.Context, _, id string) (slot.Record, bool, error) {
	return r.Record, id != "" && r.ID == id, nil
}

// sealer makes tasks as production does.
func sealer(t *testing.T) taskqueue.Keys {
	t.Helper()
	keys, err := taskqueue.ParseKeys("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
