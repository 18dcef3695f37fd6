package stack_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
)

// Three instances, the built-in document: who waits for the lane reads what its requests have done, whoever has read before.
func TestReadsThroughTheStack(t *testing.T) {
	t.Parallel()
	s, err := stack.Start(context.Background(), stack.Options{Instances: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: openapitest.Transport(t, http.DefaultTransport)}
	call := func(method, path string, headers ...string) (status, cache, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		cache, _, _ = strings.Cut(resp.Header.Get("Cache-Status"), ";ttl=")
		return resp.Status, cache, string(text)
	}
	const read = "/v1/fetch/sample/?key=k&lane=k"
	for i, want := range []string{"seriatim;fwd=miss;stored", "seriatim;hit", "seriatim;hit"} {
		if status, cache, body := call("GET", read); status != "200 OK" || cache != want || strings.Contains(body, "sha256") {
			t.Fatalf("read %d: %s, %s, %s; want %s and nothing yet", i, status, cache, body, want)
		}
	}
	for range 2 {
		if status, _, body := call("POST", "/v1/lanes/k/requests"); status[0] != '2' {
			t.Fatalf("submit: %s %s", status, body)
		}
	}
	status, cache, body := call("GET", read, "Prefer: after-lane")
	if status != "200 OK" || cache != "seriatim;fwd=stale;stored" || strings.Count(body, "sha256") != 2 {
		t.Errorf("after the lane: %s, %s, %s; want both requests in it", status, cache, body)
	}
}
