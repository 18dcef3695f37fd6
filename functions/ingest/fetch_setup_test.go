package ingest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// reads is an instance of ingest with one origin, "shop".
type reads struct {
	*bundle
	shop *shop
}

// shop answers its count of calls, unless answer is set.
type shop struct {
	url    string
	answer func(w http.ResponseWriter, r *http.Request, call int)

	mu  sync.Mutex
	got []*http.Request
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got = append(s.got, r.Clone(context.Background()))
	call := len(s.got)
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, r, call)
		return
	}
	_, _ = w.Write([]byte(strconv.Itoa(call)))
}

func (s *shop) calls() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func newShop(t *testing.T, answer func(http.ResponseWriter, *http.Request, int)) *shop {
	t.Helper()
	s := &shop{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// setupReads is an instance on a miniredis of its own.
func setupReads(t *testing.T, answer func(http.ResponseWriter, *http.Request, int), change ...func(*policy.Origin)) *reads {
	t.Helper()
	m := redistest.Miniredis(t)
	m.ClockTTL(true)
	return setupReadsOn(t, redistest.Client(t, m), newShop(t, answer), change...)
}

func setupReadsOn(t *testing.T, rdb *redis.Client, s *shop, change ...func(*policy.Origin)) *reads {
	t.Helper()
	b := &reads{bundle: setupOn(t, rdb), shop: s}
	config := policy.Origin{Name: "shop", URL: s.url, Timeout: time.Minute, TTL: time.Hour, NegativeTTL: time.Hour, MaxBytes: 64 << 20}
	for _, c := range change {
		c(&config)
	}
	o, err := origin.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	b.config.Reads = ingest.Reads{
		Origins: map[string]*origin.Origin{"shop": o},
		Group:   collapse.New(collapse.Options{Redis: rdb, RedisTimeout: time.Minute}),
	}
	t.Cleanup(b.config.Reads.Group.Close)
	b.serve(b.config)
	return b
}

// read gets a path of the shop.
func (b *reads) read(path string, headers ...header) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.call("GET", "/v1/fetch/shop/"+path, "", headers...)
}

// wantRead checks an answer and the parameters of its Cache-Status; times are left out.
func wantRead(t *testing.T, w *httptest.ResponseRecorder, status int, body, cache string) {
	t.Helper()
	type read struct {
		Status      int
		Body, Cache string
	}
	var params []string
	for _, p := range strings.Split(w.Header().Get("Cache-Status"), ";") {
		if !strings.HasPrefix(p, "ttl=") {
			params = append(params, p)
		}
	}
	if diff := cmp.Diff(read{status, body, "seriatim;" + cache}, read{w.Code, w.Body.String(), strings.Join(params, ";")}); diff != "" {
		t.Fatalf("answer (-want +got):\n%s", diff)
	}
}

func (b *reads) wantCalls(n int) {
	b.t.Helper()
	if got := len(b.shop.calls()); got != n {
		b.t.Fatalf("the origin was called %d times, want %d", got, n)
	}
}
