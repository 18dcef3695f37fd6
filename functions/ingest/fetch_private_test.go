package ingest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
)

func TestPrivateAnswersAreNotShared(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]header{
		"no-store": {"Cache-Control", "no-store"}, "private": {"Cache-Control", "private, max-age=60"}, "a cookie": {"Set-Cookie", "session=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupReads(t, func(w http.ResponseWriter, _ *http.Request, call int) {
				w.Header().Set(head.name, head.value)
				_, _ = w.Write([]byte(strconv.Itoa(call)))
			})
			for i, cache := range []string{"fwd=miss", "fwd=bypass", "fwd=bypass"} {
				w := b.read("price")
				wantRead(t, w, 200, strconv.Itoa(i+1), cache)
				if got := w.Header().Get(head.name); got != head.value {
					t.Errorf("%s: %q, want %q", head.name, got, head.value)
				}
			}
		})
	}
}

func TestCredentialsTellAnswersApart(t *testing.T) {
	t.Parallel()
	platform := header{"X-Serverless-Authorization", "Bearer platform"}
	as := func(name string) header { return header{"Authorization", "Bearer " + name} }
	t.Run("the caller's own, where the platform had another", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		})
		wantRead(t, b.read("me", platform, as("a")), 200, "Bearer a", miss)
		wantRead(t, b.read("me", platform, as("b")), 200, "Bearer b", miss)
		wantRead(t, b.read("me", platform, as("a")), 200, "Bearer a", hit)
		wantRead(t, b.read("me", platform), 200, "", miss)
		for _, r := range b.shop.calls() {
			if r.Header.Get("X-Serverless-Authorization") != "" {
				t.Error("the platform's token was passed on")
			}
		}
	})
	t.Run("the platform's is nobody's business", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		})
		wantRead(t, b.read("me", as("a")), 200, "", miss)
		wantRead(t, b.read("me", as("b")), 200, "", hit)
	})
	t.Run("the configured one wins", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		},
			func(o *policy.Origin) { o.Headers = map[string]string{"Authorization": "Bearer own"} })
		wantRead(t, b.read("me", platform, as("a")), 200, "Bearer own", miss)
		wantRead(t, b.read("me", platform, as("b")), 200, "Bearer own", hit)
	})
}

func TestLongAnswersAreStreamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("pear", collapse.MaxValue/2)
	b := setupReads(t, func(w http.ResponseWriter, _ *http.Request, call int) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(long)))
		if call == 5 {
			_, _ = io.WriteString(w, long[:collapse.MaxValue*3/2])
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, long)
	})
	if w := b.read("film"); w.Body.String() != long || w.Header().Get("Cache-Status") != "seriatim;fwd=miss" {
		t.Errorf("%d bytes, Cache-Status %q; want %d, a miss", w.Body.Len(), w.Header().Get("Cache-Status"), len(long))
	}
	wantRead(t, b.read("film", header{"If-None-Match", `"1"`}, header{"Range", "bytes=1-2"}), 304, "", "fwd=bypass")
	if w := b.read("film", header{"Range", "bytes=1-2"}); w.Code != 200 || w.Body.String() != long {
		t.Errorf("a part of what is not held: %d, %d bytes; want all of it", w.Code, w.Body.Len())
	}
	w := b.call("HEAD", "/v1/fetch/shop/film", "")
	wantRead(t, w, 200, "", "fwd=bypass")
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(len(long)) {
		t.Errorf("Content-Length %q, want %d", got, len(long))
	}
	if !dying(t, func() { b.read("film") }) {
		t.Error("an answer that broke off was passed on as if it were whole")
	}
}

func TestAStreamOfUnknownLengthThatBreaksOffIsCut(t *testing.T) {
	t.Parallel()
	b := setupReads(t, func(w http.ResponseWriter, _ *http.Request, call int) {
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, "half")
		if _ = http.NewResponseController(w).Flush(); call == 2 {
			panic(http.ErrAbortHandler)
		}
	})
	wantRead(t, b.read("feed"), 200, "half", "fwd=miss")
	if !dying(t, func() { b.read("feed") }) {
		t.Error("an answer that broke off was passed on as if it were whole")
	}
}

func TestReadsStayInTheirOrigin(t *testing.T) {
	t.Parallel()
	b := setupReads(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.URL.Path == "/api/away" {
			http.Redirect(w, r, "/secret", http.StatusFound)
			return
		}
		t.Errorf("the origin was asked for %s", r.URL)
	}, func(o *policy.Origin) { o.URL += "/api" })
	for _, path := range []string{
		"../secret", "%2e%2e/secret", "..%2fsecret", "%252e%252e/secret", `..%5csecret`, "/evil.example/", "%2f%2fevil.example", "a/..;/..;/secret",
		"http://evil.example/", "a/%2e%2e/%2e%2e/secret", "%00", "%zz",
	} {
		r := httptest.NewRequest("GET", "/v1/fetch/shop/", nil)
		r.URL.RawPath = "/v1/fetch/shop/" + path // as no client would send it
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		wantProblem(t, w, 404, problem.NoRoute)
	}
	wantProblem(t, b.read("away"), 502, problem.TargetFailed)
	wantProblem(t, b.call("GET", "/v1/fetch/http:%2f%2fevil.example/x", ""), 404, problem.NoRoute)
	wantProblem(t, b.call("GET", "/v1/fetch/nobody/x", ""), 404, problem.NoRoute)
	wantProblem(t, b.call("DELETE", "/v1/fetch/shop/%2e%2e/x", ""), 404, problem.NoRoute)
}
