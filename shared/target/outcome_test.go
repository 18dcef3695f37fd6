package target_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/target"
)

func TestTheStatusDecides(t *testing.T) {
	t.Parallel()
	retries := func(statuses ...int) func(int) bool {
		return func(status int) bool { return slices.Contains(statuses, status) }
	}
	for _, tt := range []struct {
		status    int
		retryable func(int) bool // nil: the default
		want      target.Outcome
		counts    bool
	}{
		{200, nil, target.Accept, true},
		{201, nil, target.Accept, true},
		{204, nil, target.Accept, true},
		{299, nil, target.Accept, true},
		{200, retries(200), target.Accept, true}, // a 2xx is done, whatever the rules say
		{301, nil, target.Final, true},
		{304, nil, target.Final, true},
		{307, retries(307), target.Retry, true},
		{400, nil, target.Final, true},
		{404, nil, target.Final, true},
		{404, retries(404), target.Retry, true},
		{408, nil, target.Retry, true},
		{409, nil, target.Final, true},
		{425, nil, target.Retry, true},
		{429, nil, target.Retry, false},
		{429, retries(), target.Final, false},
		{500, nil, target.Retry, true},
		{500, retries(), target.Final, true},
		{503, nil, target.Retry, false},
		{599, nil, target.Retry, true},
		{999, nil, target.Final, true},
	} {
		t.Run(fmt.Sprintf("%d is %v", tt.status, tt.want), func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) })
			got := do(t, newHTTP(t, s.URL, func(c *target.Config) { c.Retryable = tt.retryable }))
			wantEnd(t, got, tt.want, "status", tt.counts)
			if got.Response == nil || got.Response.Status != tt.status {
				t.Errorf("response is %+v, want status %d", got.Response, tt.status)
			}
		})
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()

	t.Run("is passed on as the target compressed it", func(t *testing.T) {
		t.Parallel()
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		io.WriteString(w, "ok")
		w.Close()
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if accepts := r.Header.Get("Accept-Encoding"); accepts != "" {
				t.Errorf("Accept-Encoding %q was added", accepts)
			}
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped.Bytes())
		})
		want := &target.Response{Status: 200, ContentType: "text/plain", ContentEncoding: "gzip", Body: zipped.Bytes()}
		if diff := cmp.Diff(want, do(t, newHTTP(t, s.URL, nil)).Response); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	})

	t.Run("may be chunked, and its trailers are not part of it", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "a")
			http.NewResponseController(w).Flush()
			io.WriteString(w, "b")
			w.Header().Set("X-Sum", "7")
		})
		want := &target.Response{Status: 200, Body: []byte("ab")}
		if diff := cmp.Diff(want, do(t, newHTTP(t, s.URL, nil)).Response); diff != "" {
			t.Errorf("response (-want +got):\n%s", diff)
		}
	})

	t.Run("of an early hint is the one after it", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
		})
		got := do(t, newHTTP(t, s.URL, nil))
		wantEnd(t, got, target.Accept, "status", true)
		if got.Response.Status != http.StatusCreated {
			t.Errorf("status is %d, want 201", got.Response.Status)
		}
	})

	for _, tt := range []struct {
		name         string
		status, size int
		want         target.Outcome
		reason       string
		truncated    bool
	}{
		{"at the limit is whole", 200, target.Limit, target.Accept, "status", false},
		{"over the limit is accepted, since the work is done", 200, target.Limit + 1, target.Accept, "status", true},
		{"over the limit of a failure is still retried", 500, target.Limit + 1, target.Retry, "too-large", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				w.Write(bytes.Repeat([]byte("x"), tt.size))
			})
			got := do(t, newHTTP(t, s.URL, func(c *target.Config) { c.Retryable = func(int) bool { return true } }))
			wantEnd(t, got, tt.want, tt.reason, true)
			if n := len(got.Response.Body); n != target.Limit || got.Response.Truncated != tt.truncated {
				t.Errorf("body has %d bytes, truncated %t; want %d, %t", n, got.Response.Truncated, target.Limit, tt.truncated)
			}
		})
	}
}

func TestRedirectsAreNotFollowedAndCookiesNotKept(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if cookie := r.Header.Get("Cookie"); cookie != "" {
			t.Errorf("cookie %q came back", cookie)
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	h := newHTTP(t, s.URL, nil)
	for range 2 {
		got := do(t, h)
		wantEnd(t, got, target.Final, "status", true)
		if got.Response.Status != http.StatusTemporaryRedirect {
			t.Errorf("status is %d, want 307", got.Response.Status)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Tue, 01 Dec 2026 12:00:00 GMT" // noon
	for _, tt := range []struct {
		name, value, date string
		want              time.Duration
	}{
		{"absent", "", date, 0},
		{"seconds", "7", date, 7 * time.Second},
		{"seconds with spaces", " 7 ", date, 7 * time.Second},
		{"zero", "0", date, 0},
		{"an hour", "3600", date, time.Hour},
		{"more than an hour", "3601", date, time.Hour},
		{"more than an int64", "99999999999999999999", date, time.Hour},
		{"more than a duration", "9223372036854775807", date, time.Hour},
		{"negative", "-7", date, 0},
		{"signed", "+7", date, 0},
		{"a fraction", "1.5", date, 0},
		{"not a number", "soon", date, 0},
		{"a date", "Tue, 01 Dec 2026 12:00:07 GMT", date, 7 * time.Second},
		{"a date, the target's clock an hour behind", "Tue, 01 Dec 2026 11:00:07 GMT", "Tue, 01 Dec 2026 11:00:00 GMT", 7 * time.Second},
		{"a date without Date", "Tue, 01 Dec 2026 12:00:07 GMT", "", 7 * time.Second},
		{"a date with a broken Date", "Tue, 01 Dec 2026 12:00:07 GMT", "noon", 7 * time.Second},
		{"a date of old form", "Tuesday, 01-Dec-26 12:00:07 GMT", date, 7 * time.Second},
		{"a past date", "Tue, 01 Dec 2026 11:59:00 GMT", date, 0},
		{"a date in the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT", date, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Retry-After": {tt.value}, "Date": {tt.date}}
			if got := target.RetryAfter(header, noon); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}

	for status, want := range map[int]time.Duration{429: 7 * time.Second, 503: 7 * time.Second, 500: 0, 200: 0, 301: 0} {
		t.Run(fmt.Sprintf("of a %d", status), func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(status)
			})
			if got := do(t, newHTTP(t, s.URL, nil)).RetryAfter; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
