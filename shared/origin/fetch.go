package origin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/httpcache"
)

// Fetch is a [collapse.Fetch]: it asks the origin once, whether the stored
// answer has changed where there is one, and rules on what comes. A value or
// stream is an answer as package httpcache encodes it.
func (r *Read) Fetch(ctx context.Context, stored *collapse.Stored) (collapse.Answer, error) {
	old, body := decode(stored)
	resp, err := r.ask(ctx, old)
	if err != nil {
		return collapse.Answer{}, err
	}
	header := httpcache.EndToEnd(resp.Header)
	switch {
	case resp.StatusCode == http.StatusNotModified && old != nil:
		_ = resp.Body.Close() // a 304 has none
		if header, err = httpcache.Freshen(old.Header, header); err != nil {
			return collapse.Answer{}, r.failed(err)
		}
		return r.answer(old.StatusCode, header, io.NopCloser(bytes.NewReader(body)), int64(len(body)))
	case resp.StatusCode < 200, resp.StatusCode == http.StatusNotModified:
		_ = resp.Body.Close()
		return collapse.Answer{}, r.failed(fmt.Errorf("it answered %d, which nobody asked for", resp.StatusCode))
	}
	return r.answer(resp.StatusCode, header, resp.Body, resp.ContentLength)
}

// decode returns the stored answer if the origin can be asked about it.
func decode(stored *collapse.Stored) (*http.Response, []byte) {
	if stored == nil {
		return nil, nil
	}
	old, err := httpcache.Decode(bytes.NewReader(stored.Value))
	if err != nil || !httpcache.Revalidatable(old.StatusCode, old.Header) {
		return nil, nil
	}
	body, err := httpcache.Body(stored.Value)
	if err != nil {
		return nil, nil
	}
	return old, body
}

func (r *Read) ask(ctx context.Context, old *http.Response) (*http.Response, error) {
	out := (&http.Request{Method: http.MethodGet, URL: r.url, Header: r.header.Clone()}).WithContext(ctx)
	if old != nil {
		httpcache.SetConditions(out.Header, old.Header)
	}
	resp, err := r.origin.client.Do(out)
	if err != nil {
		return nil, r.failed(err)
	}
	return resp, nil
}

// answer takes over body. What may be shared is read to its end first; what
// may not, or is too long, is a stream.
func (r *Read) answer(status int, header http.Header, body io.ReadCloser, length int64) (collapse.Answer, error) {
	rule := httpcache.Judge(status, header, r.origin.defaults(), time.Now())
	header.Del("Age") // collapse counts on from it
	a := collapse.Answer{Age: rule.Age, Failed: rule.Failed}
	rest := io.Reader(body)
	if !rule.Private && length <= collapse.MaxValue {
		read, err := io.ReadAll(io.LimitReader(body, collapse.MaxValue+1))
		if err != nil {
			_ = body.Close()
			return collapse.Answer{}, r.failed(fmt.Errorf("read its answer: %w", err))
		}
		if value := httpcache.Encode(status, header, read); len(value) <= collapse.MaxValue {
			_ = body.Close()
			times := collapse.Times(rule.Lives)
			a.Value, a.Times = value, &times
			return a, nil
		}
		rest = io.MultiReader(bytes.NewReader(read), body)
	}
	a.Private = true
	a.Stream = stream{httpcache.EncodeStream(status, header, rest, length), body}
	return a, nil
}

type stream struct {
	io.Reader
	io.Closer
}

// failed leaves the URL out of an error, whose query may hold a secret.
func (r *Read) failed(err error) error {
	var detailed *url.Error
	if errors.As(err, &detailed) {
		err = detailed.Err
	}
	return fmt.Errorf("origin %q: %w", r.origin.config.Name, err)
}
