package ingest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

const (
	miss  = "fwd=miss;stored"
	hit   = "hit"
	again = "fwd=stale;stored"
)

func TestIdenticalReadsAreOneCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		hold := make(chan struct{})
		s := newShop(t, func(w http.ResponseWriter, _ *http.Request, _ int) { <-hold; _, _ = w.Write([]byte("pear")) })
		fleet := []*reads{setupReadsOn(t, rdb, s), setupReadsOn(t, rdb, s)}
		const callers = 40
		answers := make(chan *httptest.ResponseRecorder, callers)
		var started sync.WaitGroup
		for i := range callers {
			started.Add(1)
			go func() {
				started.Done()
				answers <- fleet[i%2].read("price?of=pear")
			}()
		}
		started.Wait()
		close(hold)
		seen := map[string]int{}
		for range callers {
			w := <-answers
			if w.Code != 200 || w.Body.String() != "pear" {
				t.Fatalf("got %d %q", w.Code, w.Body)
			}
			status, _, _ := strings.Cut(w.Header().Get("Cache-Status"), ";ttl=")
			seen[status]++
		}
		fleet[0].wantCalls(1)
		// Who came when all was over has a hit.
		own, shared := seen["seriatim;fwd=miss;stored"], seen["seriatim;fwd=miss;stored;collapsed"]+seen["seriatim;hit"]
		if own != 1 || shared != callers-1 {
			t.Errorf("Cache-Status %v, want one miss, all others collapsed or hit", seen)
		}
	})
}

func TestAnAnswerIsPassedOnWhole(t *testing.T) {
	t.Parallel()
	b := setupReads(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		for name, value := range map[string]string{
			"ETag": `"1"`, "Last-Modified": "Tue, 01 Dec 2026 08:00:00 GMT", "Content-Type": "text/x-price", "Cache-Control": "max-age=60",
			"Connection": "X-Hop", "X-Hop": "1", "X-Twice": "1", "Seriatim-Status": "done", "Age": "5", "Content-Encoding": "x-none",
		} {
			w.Header().Set(name, value)
		}
		w.Header().Add("X-Twice", "2")
		_, _ = w.Write([]byte("0123456789"))
	})
	for i, cache := range []string{miss, hit} {
		w := b.read("price")
		wantRead(t, w, 200, "0123456789", cache)
		w.Header().Del("Date")
		w.Header().Del("Cache-Status")
		want := http.Header{
			"Etag": {`"1"`}, "Last-Modified": {"Tue, 01 Dec 2026 08:00:00 GMT"}, "Content-Type": {"text/x-price"}, "Age": {"5"},
			"Cache-Control": {"max-age=60"}, "X-Twice": {"1", "2"}, "Content-Encoding": {"x-none"}, "Accept-Ranges": {"bytes"},
			"Content-Length": {"10"},
		}
		if diff := cmp.Diff(want, w.Header()); diff != "" {
			t.Errorf("read %d: header (-want +got):\n%s", i, diff)
		}
	}

	for _, tt := range []struct {
		name, method string
		header       header
		status       int
		body, length string
	}{
		{"the client's own ETag", "GET", header{"If-None-Match", `"0", W/"1"`}, 304, "", ""},
		{"another", "GET", header{"If-None-Match", `"2"`}, 200, "0123456789", "10"},
		{"a date", "GET", header{"If-Modified-Since", "Tue, 01 Dec 2026 08:00:00 GMT"}, 304, "", ""},
		{"an older date", "GET", header{"If-Modified-Since", "Tue, 01 Dec 2026 07:59:59 GMT"}, 200, "0123456789", "10"},
		{"what is for origins only", "GET", header{"If-Match", `"2"`}, 200, "0123456789", "10"},
		{"HEAD", "HEAD", header{"X-None", ""}, 200, "", "10"},
		{"HEAD on a condition", "HEAD", header{"If-None-Match", `"1"`}, 304, "", ""},
		{"a range", "GET", header{"Range", "bytes=2-4"}, 206, "234", "3"},
	} {
		w := b.call(tt.method, "/v1/fetch/shop/price", "", tt.header)
		wantRead(t, w, tt.status, tt.body, hit)
		if got := w.Header().Get("Content-Length"); got != tt.length {
			t.Errorf("%s: Content-Length %q, want %q", tt.name, got, tt.length)
		}
	}
	b.wantCalls(1)
	if got := b.shop.calls()[0].Header; got.Get("Range") != "" || got.Get("If-None-Match") != "" {
		t.Errorf("the origin saw %v", got)
	}
}

func TestHEADLeadsAFlightToo(t *testing.T) {
	t.Parallel()
	b := setupReads(t, nil)
	wantRead(t, b.call("HEAD", "/v1/fetch/shop/price", ""), 200, "", miss)
	wantRead(t, b.read("price"), 200, "1", hit)
	if got := b.shop.calls()[0].Method; got != "GET" {
		t.Errorf("the origin was asked by %s", got)
	}
}

func TestQueriesAreKeptAndTellApart(t *testing.T) {
	t.Parallel()
	b := setupReads(t, nil, func(o *policy.Origin) { o.Vary = []string{"Accept"} })
	wantRead(t, b.read("price?of=pear&&x=%2F"), 200, "1", miss)
	wantRead(t, b.read("price?of=apple"), 200, "2", miss)
	wantRead(t, b.read("price?of=apple", header{"Accept", "text/html"}), 200, "3", miss)
	wantRead(t, b.read("price?of=apple", header{"X-Other", "1"}), 200, "2", hit)
	if got := b.shop.calls()[0].URL.RequestURI(); got != "/price?of=pear&&x=%2F" {
		t.Errorf("the origin was asked for %s", got)
	}
}

func TestRevalidationCostsNoBody(t *testing.T) {
	t.Parallel()
	b := setupReads(t, func(w http.ResponseWriter, r *http.Request, call int) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Cache-Control", "no-cache")
		if call > 1 && r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("pear"))
	})
	wantRead(t, b.read("price"), 200, "pear", miss)
	wantRead(t, b.read("price"), 200, "pear", again)
	b.wantCalls(2)
}

func TestAFailingOrigin(t *testing.T) {
	t.Parallel()
	failing := func(w http.ResponseWriter, _ *http.Request, call int) {
		if call > 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write([]byte("pear"))
	}
	t.Run("is asked once for the negative time", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusServiceUnavailable) })
		wantRead(t, b.read("price"), 503, "", "fwd=miss")
		wantRead(t, b.read("price"), 503, "", hit)
		b.wantCalls(1)
	})
	t.Run("is covered by a stale answer, where that is allowed", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, failing, func(o *policy.Origin) { o.TTL, o.StaleIfError = 0, time.Hour })
		wantRead(t, b.read("price"), 200, "pear", miss)
		wantRead(t, b.read("price"), 200, "pear", "fwd=stale;detail=origin-failed")
		wantRead(t, b.read("price"), 200, "pear", hit) // nobody asks again before the negative time is over
		b.wantCalls(2)
	})
	t.Run("is not, where it is not", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, failing, func(o *policy.Origin) { o.TTL = 0 })
		wantRead(t, b.read("price"), 200, "pear", miss)
		wantRead(t, b.read("price"), 502, "pear", "fwd=stale")
	})
	t.Run("that breaks off is 502", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) })
		for range 2 {
			wantProblem(t, b.read("price?token=s3cret"), 502, problem.TargetFailed)
		}
		b.wantCalls(1)
		if log := b.log.String(); strings.Contains(log, "s3cret") {
			t.Errorf("the log tells the query: %s", log)
		}
	})
	t.Run("that does not answer is 504", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() },
			func(o *policy.Origin) { o.Timeout = 20 * time.Millisecond })
		wantProblem(t, b.read("price"), 504, problem.TargetTimeout)
	})
}
