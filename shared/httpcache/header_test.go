package httpcache_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/httpcache"
)

func TestEndToEndDropsWhatEndsHere(t *testing.T) {
	t.Parallel()
	in := header("Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 1", "Transfer-Encoding: chunked", "Proxy-Authenticate: x",
		"Content-Length: 5", "Trailer: X-T", "Te: x", "Upgrade: h2", "Alt-Svc: h3", "Seriatim-Status: done", "ETag: 1", "X-End: 1")
	got := httpcache.EndToEnd(in)
	if diff := cmp.Diff(header("ETag: 1", "X-End: 1"), got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if len(in) != 13 {
		t.Errorf("the original was changed: %v", in)
	}
}

func TestFreshen(t *testing.T) {
	t.Parallel()
	stored := header(`ETag: "1"`, "Content-Type: text/plain", "Cache-Control: max-age=1", "Age: 7", "X-Old: 1")
	for _, tt := range []struct {
		name string
		in   http.Header
		want http.Header
		err  error
	}{
		{
			"the new fields win, those about the body stay", header("Cache-Control: max-age=2", "Content-Type: text/html", `ETag: W/"1"`),
			header(`ETag: W/"1"`, "Content-Type: text/plain", "Cache-Control: max-age=2", "X-Old: 1"), nil,
		},
		{"a 304 may say nothing", nil, header(`ETag: "1"`, "Content-Type: text/plain", "Cache-Control: max-age=1", "X-Old: 1"), nil},
		{"one of another version confirms nothing", header(`ETag: "2"`), nil, httpcache.ErrOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := httpcache.Freshen(stored, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v; header (-want +got):\n%s", err, tt.err, diff)
			}
		})
	}
}

func TestSetConditions(t *testing.T) {
	t.Parallel()
	got := http.Header{}
	httpcache.SetConditions(got, header(`ETag: W/"1"`, "Last-Modified: Tue, 01 Dec 2026 08:00:00 GMT"))
	want := header(`If-None-Match: W/"1"`, "If-Modified-Since: Tue, 01 Dec 2026 08:00:00 GMT")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	for status, want := range map[int]bool{200: true, 404: false} {
		if got := httpcache.Revalidatable(status, header(`ETag: "1"`)); got != want {
			t.Errorf("%d can be revalidated: %v, want %v", status, got, want)
		}
	}
	if httpcache.Revalidatable(200, nil) {
		t.Error("without a validator nothing can be revalidated")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]httpcache.Status{
		"seriatim;hit;ttl=12":                         {Hit: true, Lifetime: true, TTL: 12*time.Second + 1},
		"seriatim;hit;ttl=-3":                         {Hit: true, Lifetime: true, TTL: -3 * time.Second},
		"seriatim;fwd=miss;stored;collapsed;ttl=60":   {Forward: "miss", Stored: true, Collapsed: true, Lifetime: true, TTL: time.Minute},
		"seriatim;fwd=stale;ttl=0;detail=no-redis-42": {Forward: "stale", Lifetime: true, Detail: "no-redis-42"},
	} {
		h := header("Cache-Status: cdn; hit")
		if err := s.Add(h); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cdn; hit", want}, h["Cache-Status"]); diff != "" {
			t.Errorf("Cache-Status (-want +got):\n%s", diff)
		}
	}
}
