package ingest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/httpcache"
	"github.com/seriatim/seriatim/shared/logging"
)

// deliver answers with what was read. The client's own conditions, and Range on an answer that is held, are served here: the
// origin never sees them.
func (r *reading) deliver(result collapse.Result) error {
	source, held := io.Reader(bytes.NewReader(result.Value)), result.Stream == nil
	if !held {
		defer result.Stream.Close()
		source = result.Stream
	}
	answer, err := httpcache.Decode(source)
	if err != nil {
		return err
	}
	if err := r.describe(result, answer); err != nil {
		return err
	}
	content := &forward{Reader: answer.Body, size: answer.ContentLength}
	switch {
	case answer.StatusCode != http.StatusOK || content.size < 0:
		r.copy(answer, content)
	case held:
		return r.serve(answer, result.Value)
	default:
		http.ServeContent(r.w, conditions(r.r, "Range"), "", modified(answer.Header), content)
	}
	if content.err != nil {
		r.warn("an origin's answer broke off", content.err)
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
	return nil
}

func (r *reading) warn(message string, err error) {
	ctx := r.r.Context()
	logging.FromContext(ctx).WarnContext(ctx, message, logging.Error, err.Error())
}

// describe writes the head, all but the status.
func (r *reading) describe(result collapse.Result, answer *http.Response) error {
	h := r.w.Header()
	h.Del("Cache-Control")
	h["Content-Type"] = nil // where the origin gave none, none is guessed
	for name, values := range answer.Header {
		h[name] = values
	}
	if answer.ContentLength >= 0 && answer.StatusCode != http.StatusNoContent {
		h.Set("Content-Length", strconv.FormatInt(answer.ContentLength, 10))
	}
	if r.tied {
		h.Add("Cache-Control", "no-cache") // a cache behind us cannot know when the lane moves
	}
	shared := result.Outcome == collapse.Hit || result.Outcome == collapse.Stale || result.Collapsed
	if shared || result.Age >= time.Second {
		h.Set("Age", strconv.FormatInt(int64(result.Age/time.Second), 10))
	}
	if result.Err != nil {
		r.warn("an origin failed, a stale answer stands in", result.Err)
	}
	return status(result).Add(h)
}

// status tells what the cache did.
func status(r collapse.Result) httpcache.Status {
	s := httpcache.Status{Stored: r.Stored, Collapsed: r.Collapsed, TTL: r.TTL, Detail: r.Detail}
	switch {
	case r.Outcome == collapse.Hit, r.Outcome == collapse.Stale && r.Err == nil:
		s.Hit, s.Lifetime = true, !r.Failed
	case r.Outcome == collapse.Stale:
		s.Forward, s.Lifetime, s.Detail = "stale", true, "origin-failed"
	case r.Outcome == collapse.Pass:
		s.Forward = "bypass"
	case r.Refetched:
		s.Forward, s.Lifetime = "stale", r.Stored
	default:
		s.Forward, s.Lifetime = "miss", r.Stored
	}
	return s
}

// serve answers with a held answer of status 200.
func (r *reading) serve(answer *http.Response, value []byte) error {
	body, err := httpcache.Body(value)
	if err != nil {
		return err
	}
	http.ServeContent(r.w, conditions(r.r), "", modified(answer.Header), bytes.NewReader(body))
	return nil
}

// copy answers as it comes.
func (r *reading) copy(answer *http.Response, body io.Reader) {
	r.w.WriteHeader(answer.StatusCode)
	if r.r.Method == http.MethodHead {
		return
	}
	_, _ = io.Copy(r.w, body) // what fails is the client's connection, or is kept by body
}

// conditions is the request without what only an origin may judge (RFC 9111, 4.3.2), and without more headers.
func conditions(in *http.Request, more ...string) *http.Request {
	out := in.Clone(in.Context())
	for _, name := range append(more, "If-Match", "If-Unmodified-Since") {
		out.Header.Del(name)
	}
	return out
}

// modified is zero where the answer does not say it.
func modified(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// forward is the body of an answer on its way: it can be read once, and knows whether that failed.
type forward struct {
	io.Reader
	size int64
	err  error
}

func (f *forward) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// Seek serves http.ServeContent, which asks for nothing but the size where there is no Range.
func (f *forward) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return f.size, nil
	}
	return 0, nil
}
