package ingest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/record"
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

// records are durable records that can be told to fail.
type records struct {
	*record.Memory
	err       error
	getErr    error // of Get alone
	deleteErr error // of Delete alone
	// putting, where it is set, is called with each Put, and calls put for it to take effect.
	putting    func(put func() (record.Record, error)) (record.Record, error)
	puts, gets atomic.Int64
}

func (f *records) Get(ctx context.Context, key, id string) (record.Record, bool, error) {
	f.gets.Add(1)
	if err := errors.Join(f.err, f.getErr); err != nil {
		return record.Record{}, false, err
	}
	return f.Memory.Get(ctx, key, id)
}

func (f *records) Delete(ctx context.Context, key, id string, ticket int64) error {
	if f.deleteErr != nil {
		return f.deleteErr
	}
	return f.Memory.Delete(ctx, key, id, ticket)
}

func (f *records) Put(ctx context.Context, r record.Record) (record.Record, error) {
	f.puts.Add(1)
	if f.err != nil {
		return record.Record{}, f.err
	}
	put := func() (record.Record, error) { return f.Memory.Put(ctx, r) }
	if putting := f.putting; putting != nil {
		return putting(put)
	}
	return put()
}

func (f *records) List(ctx context.Context, key string, status record.Status, size int, token string) (record.Page, error) {
	if f.err != nil {
		return record.Page{}, f.err
	}
	return f.Memory.List(ctx, key, status, size, token)
}

// ended stores how a request of lane-a ended under the idempotency key, in an earlier life of Redis.
func (b *bundle) ended(key string, edit func(*record.Record)) record.Record {
	b.t.Helper()
	r := record.Record{
		Key: "lane-a", ID: idempotency.RequestID("lane-a", key), Fingerprint: idempotency.Fingerprint("lane-a", "", "", []byte("payload")),
		Ticket: 7, Fence: 9, Status: record.Done, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
		Response: []byte(`{"status":203,"content_type":"text/plain"}` + "\nkept"),
	}
	if edit != nil {
		edit(&r)
	}
	if _, err := b.records.Memory.Put(context.Background(), r); err != nil {
		b.t.Fatal(err)
	}
	return r
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
