package httpcache_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/httpcache"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(200, 599).Filter(func(n int) bool { return n != 204 && n != 304 }).Draw(t, "status")
		h := http.Header{}
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			h.Add(rapid.StringMatching(`X-[A-Z][a-z]{0,9}`).Draw(t, "name"), rapid.StringMatching(`([!-~]([ -~]{0,20}[!-~])?)?`).Draw(t, "value"))
		}
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		encoded := httpcache.Encode(status, h, body)
		held, err := httpcache.Body(encoded)
		if err != nil || !bytes.Equal(held, body) {
			t.Fatalf("body %q, %v; want %q", held, err, body)
		}
		for name, reader := range map[string]io.Reader{
			"held":                       bytes.NewReader(encoded),
			"a stream":                   httpcache.EncodeStream(status, h, bytes.NewReader(body), int64(len(body))),
			"a stream of unknown length": httpcache.EncodeStream(status, h, bytes.NewReader(body), -1),
		} {
			got, err := httpcache.Decode(reader)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			read, err := io.ReadAll(got.Body)
			if err != nil || !bytes.Equal(read, body) || got.StatusCode != status {
				t.Fatalf("%s: %d %q, %v; want %d %q", name, got.StatusCode, read, err, status, body)
			}
			if diff := cmp.Diff(h, got.Header); diff != "" {
				t.Fatalf("%s: header (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	t.Run("a value cannot end the head", func(t *testing.T) {
		t.Parallel()
		got, err := httpcache.Decode(bytes.NewReader(httpcache.Encode(200, http.Header{"X-A": {"1\r\n\r\nX-B: 2"}}, nil)))
		if err != nil || len(got.Header) != 1 {
			t.Errorf("header %v, %v; want X-A alone", got.Header, err)
		}
	})
	t.Run("a stream that breaks off is not whole", func(t *testing.T) {
		t.Parallel()
		got, err := httpcache.Decode(httpcache.EncodeStream(200, nil, strings.NewReader("half"), 8))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(got.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v, want %v", err, io.ErrUnexpectedEOF)
		}
	})
	t.Run("what is none is an error", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"", "HTTP/1.1", "HTTP/1.1 200 OK\r\nX-A", "{}"} {
			if _, err := httpcache.Decode(strings.NewReader(text)); err == nil {
				t.Errorf("%q is read as an answer", text)
			}
			if _, err := httpcache.Body([]byte(text)); err == nil {
				t.Errorf("%q has a body", text)
			}
		}
	})
}
