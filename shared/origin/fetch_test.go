package origin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/httpcache"
	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/policy"
)

// serve is an origin with base path /api, and what is beside it.
func serve(t *testing.T, config policy.Origin, api http.HandlerFunc) *origin.Origin {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/api/", api)
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for", r.URL) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	config.URL = s.URL + "/api"
	return newOrigin(t, config)
}

// read reads path x.
func read(t *testing.T, o *origin.Origin, caller origin.Caller) *origin.Read {
	t.Helper()
	r, err := o.Read("x", "", caller)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text is the body of an answer that is held.
func text(t *testing.T, a collapse.Answer) string {
	t.Helper()
	body, err := httpcache.Body(a.Value)
	if err != nil {
		t.Fatalf("%v in %+v", err, a)
	}
	return string(body)
}

func TestWhatAnOriginSees(t *testing.T) {
	t.Parallel()
	caller := origin.Caller{Authorization: "Bearer caller", Header: http.Header{
		"Accept": {"text/html", "text/plain"}, "Cookie": {"id=1"}, "Range": {"bytes=0-1"}, "If-None-Match": {`"1"`}, "X-Other": {"1"},
		"Accept-Encoding": {"gzip"}, "X-Serverless-Authorization": {"Bearer platform"},
	}}
	for _, tt := range []struct {
		name   string
		config policy.Origin
		caller origin.Caller
		want   http.Header
	}{
		{"nothing of the caller's that is not configured", policy.Origin{}, origin.Caller{Header: caller.Header}, http.Header{}},
		{
			"the headers it varies by, as one", policy.Origin{Vary: []string{"Accept", "X-Absent"}}, origin.Caller{Header: caller.Header},
			http.Header{"Accept": {"text/html, text/plain"}},
		},
		{"the caller's credential", policy.Origin{}, caller, http.Header{"Authorization": {"Bearer caller"}}},
		{
			"the configured headers, before the caller's", policy.Origin{Headers: map[string]string{"Authorization": "Bearer own", "X-Team": "blue"}},
			caller, http.Header{"Authorization": {"Bearer own"}, "X-Team": {"blue"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan http.Header, 1)
			o := serve(t, tt.config, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
			if _, err := read(t, o, tt.caller).Fetch(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			tt.want["User-Agent"], tt.want["Via"] = []string{"seriatim"}, []string{"1.1 seriatim"}
			if diff := cmp.Diff(tt.want, <-got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysTellApartWhatTheOriginSees(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, policy.Origin{URL: "http://o", Vary: []string{"X-A", "X-B"}})
	seen := map[collapse.Key]string{}
	for name, r := range map[string]struct {
		query  string
		caller origin.Caller
	}{
		"plain":             {},
		"a query":           {query: "a=1"},
		"another":           {query: "a=2"},
		"a header":          {caller: origin.Caller{Header: http.Header{"X-A": {"1"}}}},
		"another header":    {caller: origin.Caller{Header: http.Header{"X-B": {"1"}}}},
		"an empty header":   {caller: origin.Caller{Header: http.Header{"X-A": {""}}}},
		"both":              {caller: origin.Caller{Header: http.Header{"X-A": {"1"}, "X-B": {"1"}}}},
		"one that looks so": {caller: origin.Caller{Header: http.Header{"X-A": {`1" "X-B" "1`}}}},
		"a credential":      {caller: origin.Caller{Authorization: "1"}},
		"another one":       {caller: origin.Caller{Authorization: "2"}},
	} {
		read, err := o.Read("x", r.query, r.caller)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[read.Key]; twice {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[read.Key] = name
	}
	same, err := o.Read("x", "", origin.Caller{Header: http.Header{"Cookie": {"id=1"}, "X-C": {"1"}}})
	if err != nil || seen[same.Key] != "plain" {
		t.Errorf("what the origin does not see changes the key to %+v, %v", same.Key, err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	for location, follow := range map[string]bool{
		"/api/y": true, "y": true, "/api/a/../y": true, "?moved": true,
		"/": false, "/other": false, "/apix": false, "../other": false, "/api/%2e%2e/other": false, "/api/..%2fother": false, `/api/..%5cother`: false,
		"//evil.example/api/y": false, "https://evil.example/api/y": false, "http://127.0.0.1:1/api/y": false, "file:///etc/passwd": false,
		"http://user@evil.example/api/": false, "/api/x": false, // again and again
	} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			o := serve(t, policy.Origin{}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/x" && r.URL.RawQuery == "" {
					w.Header().Set("Location", location)
					w.WriteHeader(http.StatusFound)
					return
				}
				_, _ = io.WriteString(w, "there")
			})
			a, err := read(t, o, origin.Caller{}).Fetch(t.Context(), nil)
			switch {
			case follow && err != nil:
				t.Errorf("error %v, want it followed", err)
			case follow && text(t, a) != "there":
				t.Errorf("answer %q", a.Value)
			case !follow && !errors.Is(err, origin.ErrRedirect):
				t.Errorf("error %v, answer %q; want %v", err, a.Value, origin.ErrRedirect)
			}
		})
	}
}

func TestRevalidation(t *testing.T) {
	t.Parallel()
	o := serve(t, policy.Origin{TTL: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.Header().Set("Cache-Control", "max-age=7")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("X-Kept", "1")
		_, _ = io.WriteString(w, "first")
	})
	r := read(t, o, origin.Caller{})
	first, err := r.Fetch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Fetch(t.Context(), &collapse.Stored{Value: first.Value})
	if err != nil || text(t, again) != "first" || again.Times.Fresh != 7*time.Second || first.Times.Fresh != time.Hour {
		t.Errorf("first %+v, confirmed %q %+v, %v", first.Times, again.Value, again.Times, err)
	}
	if !bytes.Contains(again.Value, []byte("X-Kept: 1")) {
		t.Errorf("the stored header was lost: %q", again.Value)
	}
	if corrupt, err := r.Fetch(t.Context(), &collapse.Stored{Value: []byte("{")}); err != nil || text(t, corrupt) != "first" {
		t.Errorf("beside what cannot be decoded: %q, %v", corrupt.Value, err)
	}

	t.Run("a 304 that nobody asked for is no answer", func(t *testing.T) {
		t.Parallel()
		o := serve(t, policy.Origin{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
		if a, err := read(t, o, origin.Caller{}).Fetch(t.Context(), nil); err == nil {
			t.Errorf("answer %+v", a)
		}
	})
}

func TestErrorsTellNoSecret(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, o := range map[string]*origin.Origin{
		"nobody there": newOrigin(t, policy.Origin{URL: "http://127.0.0.1:1/?key=s3cret"}),
		"a half answer": serve(t, policy.Origin{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "half")
		}),
		"a redirect": serve(t, policy.Origin{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/?s3cret", http.StatusFound)
		}),
	} {
		r, err := o.Read("x", "token=s3cret", origin.Caller{Authorization: "s3cret"})
		if err != nil {
			t.Fatal(err)
		}
		for _, ctx := range []context.Context{t.Context(), ended} {
			if a, err := r.Fetch(ctx, nil); err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: error %v, answer %+v", name, err, a)
			}
		}
	}
}
