package cloudtasks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const (
	// idlePerTarget keeps connections to one target for as many attempts as a
	// queue may have in flight.
	idlePerTarget = 5000
	idleTimeout   = 30 * time.Second

	// maxDrain is how much of a response is read so that its connection can
	// be used again; the service ignores what targets answer.
	maxDrain = 1 << 20
)

// sender performs attempts.
type sender struct {
	client *http.Client
	tokens *tokens
}

func newSender(t *tokens) *sender {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return &sender{tokens: t, client: &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConnsPerHost: idlePerTarget,
			IdleConnTimeout:     idleTimeout,
			DisableCompression:  true,
		},
		// A redirect is a failed attempt, as recorded against the service.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send performs one attempt. Whatever keeps it from getting a response is a
// result without a status.
func (s *sender) send(ctx context.Context, r engine.Request, now func() time.Time) engine.Result {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return engine.Result{}
	}
	request.Header = r.Header
	if r.Token != nil {
		authorization, err := s.tokens.authorization(*r.Token)
		if err != nil {
			return engine.Result{}
		}
		request.Header.Set("Authorization", authorization)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return engine.Result{}
	}
	defer response.Body.Close()
	if _, err := io.CopyN(io.Discard, response.Body, maxDrain); err != nil && !errors.Is(err, io.EOF) {
		return engine.Result{}
	}
	return engine.Result{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"), now())}
}

// retryAfter reads the header's seconds or date; 0 where it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func (s *sender) close() { s.client.CloseIdleConnections() }
