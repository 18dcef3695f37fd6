package stack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

// full is the whole on a real Redis that can be filled up, with a target that holds every run until it is let go.
type full struct {
	*stack.Stack
	t      *testing.T
	rdb    *redis.Client
	client *http.Client // holds answers against the contract

	release chan struct{}
	began   chan struct{}
	mu      sync.Mutex
	ran     map[string][]string // by lane
	done    chan struct{}       // closed when all that was accepted has run
	want    int
}

const fullLanes, fullEach = 10, 200

func newFull(t *testing.T) *full {
	t.Helper()
	f := &full{
		t: t, client: &http.Client{Transport: openapitest.Transport(t, http.DefaultTransport)}, rdb: redistest.Start(t, "--maxmemory", "16mb", "--maxmemory-policy", "noeviction").Client(), want: fullLanes * fullEach,
		release: make(chan struct{}), began: make(chan struct{}, fullLanes*fullEach), done: make(chan struct{}), ran: map[string][]string{},
	}
	work := &target.Set{}
	work.Register("work", f.work)
	var err error
	f.Stack, err = stack.Start(t.Context(), stack.Options{
		Redis: "redis://" + f.rdb.Options().Addr, Functions: work,
		Config: func(string) string {
			return "targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: '*', target: work, spacing: 0s, lease: 5s}]\n"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *full) work(ctx context.Context, r target.Request) (target.Response, error) {
	f.mu.Lock()
	f.ran[r.Key] = append(f.ran[r.Key], string(r.Body))
	f.mu.Unlock()
	f.began <- struct{}{}
	select {
	case <-f.release:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.want--; f.want == 0 {
		close(f.done)
	}
	return target.Response{}, nil
}

func (f *full) submit(client *http.Client, key, body, prefer string) (status int, header http.Header) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.URL+"/v1/lanes/"+key+"/requests", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Prefer", prefer)
	resp, err := client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// fill lets nothing more in, not even a byte.
func (f *full) fill() {
	f.t.Helper()
	for size := 1 << 20; size > 0; size /= 2 {
		var err error
		for i := 0; err == nil; i++ {
			err = f.rdb.Set(f.t.Context(), fmt.Sprintf("ballast %d %d", size, i), strings.Repeat("x", size), 0).Err()
		}
		if !redisconn.IsFull(err) {
			f.t.Fatal(err)
		}
	}
}

// keys are those of lanes that match, with what each takes in bytes and how long it has to live.
func (f *full) keys(pattern string, see func(key string, bytes int64, life time.Duration)) {
	f.t.Helper()
	var all []string
	var err error
	for cursor := uint64(0); ; {
		var some []string
		if some, cursor, err = f.rdb.Scan(f.t.Context(), cursor, pattern, 1000).Result(); err != nil {
			f.t.Fatal(err)
		}
		if all = append(all, some...); cursor == 0 {
			break
		}
	}
	pipe := f.rdb.Pipeline()
	sizes, lives := make([]*redis.IntCmd, len(all)), make([]*redis.DurationCmd, len(all))
	for i, key := range all {
		sizes[i], lives[i] = pipe.MemoryUsage(f.t.Context(), key, 0), pipe.PTTL(f.t.Context(), key)
	}
	if _, err := pipe.Exec(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	for i, key := range all {
		see(key, sizes[i].Val(), lives[i].Val())
	}
}

// bytes is what the lanes take.
func (f *full) bytes() (sum int64) {
	f.t.Helper()
	f.keys("seriatim:*", func(_ string, bytes int64, _ time.Duration) { sum += bytes })
	return sum
}

// durable counts the records that Redis keeps only for a while, as they are kept elsewhere.
func (f *full) durable() (n int) {
	f.t.Helper()
	f.keys("seriatim:*:i:*", func(_ string, _ int64, life time.Duration) {
		if life <= slot.FlushedLife {
			n++
		}
	})
	return n
}

// passes has the hour pass that Redis keeps durable records, and journals.
func (f *full) passes() {
	f.t.Helper()
	f.keys("seriatim:*", func(key string, _ int64, life time.Duration) {
		if life <= time.Hour {
			f.rdb.Del(f.t.Context(), key)
		}
	})
}

func TestAFullRedisRefusesNewWorkAndEndsWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFull(t)
	want := map[string][]string{}
	for lane := range fullLanes {
		key := fmt.Sprintf("lane-%d", lane)
		for i := range fullEach {
			body := fmt.Sprintf("%d", i)
			if status, _ := f.submit(http.DefaultClient, key, body, "respond-async"); status != http.StatusAccepted {
				t.Fatalf("%s %s: %d, want 202", key, body, status)
			}
			want[key] = append(want[key], body)
		}
	}
	for range fullLanes {
		<-f.began
	}
	f.fill()
	before := f.bytes()

	// New work is refused, wherever it wants to go and however: 503, and when to come again.
	for _, key := range []string{"lane-0", "another"} {
		for _, prefer := range []string{"respond-async", "wait=1", "none"} {
			if status, header := f.submit(f.client, key, "refused", prefer); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
				t.Errorf("%s, %s: %d, Retry-After %q; want 503 with one", key, prefer, status, header.Get("Retry-After"))
			}
		}
	}

	// What waits goes on to its end, in order, each once.
	close(f.release)
	<-f.done
	await(t, "all records are durable", func() bool { return f.durable() == fullLanes*fullEach })
	f.mu.Lock()
	if diff := cmp.Diff(want, f.ran); diff != "" {
		t.Errorf("runs by lane (-want +got):\n%s", diff)
	}
	f.mu.Unlock()

	// What it took is given back a quarter of an hour later, and new work gets in again although nobody has made room.
	ended := f.bytes()
	f.passes()
	after := f.bytes()
	t.Logf("%d waiting requests took %d bytes, ended ones %d, and %d when Redis need not keep them any more", fullLanes*fullEach, before, ended, after)
	if after > before/10 {
		t.Errorf("the lanes hold %d bytes, and %d when all is over", before, after)
	}
	f.mu.Lock()
	f.want = -1 // what comes now was not accepted before
	f.mu.Unlock()
	if status, _ := f.submit(f.client, "lane-0", "let in", "none"); status != http.StatusOK {
		t.Errorf("afterwards: %d, want 200", status)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.ran["lane-0"], "let in") {
		t.Error("what was let in has not run")
	}
}

// await polls until done, for as long as the test may take.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}
