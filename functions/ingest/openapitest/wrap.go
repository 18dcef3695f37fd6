package openapitest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Handler returns next, ingest's handler, with every answer checked before ServeHTTP returns. An answer that is cut off by a
// panic is not checked.
func Handler(t testing.TB, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		again := r.WithContext(r.Context())
		again.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
		out := &answer{ResponseWriter: w}
		next.ServeHTTP(out, again)
		if out.status == 0 {
			out.WriteHeader(http.StatusOK)
		}
		Check(t, r, sent.Bytes(), out.status, out.header, out.body.Bytes())
	})
}

// answer keeps what is answered.
type answer struct {
	http.ResponseWriter
	status int
	header http.Header
	body   bytes.Buffer
}

// WriteHeader keeps status and headers as they are sent.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.header = status, a.Header().Clone()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write keeps the body.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	a.body.Write(b)
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Transport returns base with every answer of a path under /v1/ checked. Answers are read whole.
func Transport(t testing.TB, base http.RoundTripper) http.RoundTripper { return transport{t, base} }

type transport struct {
	t    testing.TB
	base http.RoundTripper
}

// RoundTrip sends r and checks the answer.
func (c transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return c.base.RoundTrip(r)
	}
	var sent bytes.Buffer
	again := r.WithContext(r.Context())
	if r.Body != nil {
		again.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
	}
	resp, err := c.base.RoundTrip(again)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	Check(c.t, r, sent.Bytes(), resp.StatusCode, resp.Header, body)
	return resp, nil
}
