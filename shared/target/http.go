package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// HTTP is a [Target] that is called over HTTP/1.1 or, with TLS, HTTP/2. It has
// its own connection pool, so that one target's trouble is not another's. It
// is safe for concurrent use.
type HTTP struct {
	cfg       Config
	signer    *webhooks.Webhook // nil: unsigned
	tokens    TokenSource
	now       func() time.Time
	transport *http.Transport
}

// Option changes how [New] builds an [HTTP].
type Option func(*HTTP)

// WithTokenSource takes identity tokens from s.
// Default: [GoogleTokens].
func WithTokenSource(s TokenSource) Option { return func(h *HTTP) { h.tokens = s } }

// WithClock takes the time of signatures and of Retry-After dates from now.
// Default: [time.Now].
func WithClock(now func() time.Time) Option { return func(h *HTTP) { h.now = now } }

// New checks cfg and returns the target it describes; nothing is contacted.
// The error holds every fault of cfg, each naming its field, and no value that
// may be a secret.
func New(cfg Config, opts ...Option) (*HTTP, error) {
	cfg = cfg.withDefaults()
	s, err := signer(cfg.Secret)
	if err := errors.Join(cfg.check(), err); err != nil {
		return nil, fmt.Errorf("target %q: %w", cfg.Name, err)
	}
	h := &HTTP{cfg: cfg, signer: s, now: time.Now, transport: newTransport()}
	for _, opt := range opts {
		opt(h)
	}
	if h.tokens == nil {
		h.tokens = GoogleTokens()
	}
	return h, nil
}

// newTransport calls RoundTrip's transport alone, without an http.Client:
// that is what would follow redirects and keep cookies.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               nil, // not the environment's
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		// A silent peer would else hold every HTTP/2 stream to its timeout.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		// More than the concurrency of a function instance.
		MaxIdleConnsPerHost: 256,
		// Below the 5 s after which common servers (Node.js) close an idle
		// connection: one closed while the next request is on its way is an
		// attempt of unknown effect. net/http compares wall time, so this
		// holds for an instance that was frozen in between as well.
		IdleConnTimeout:        4 * time.Second,
		DisableCompression:     true, // bodies stay as the target sent them
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Close closes the idle connections. Calls that run go on.
func (h *HTTP) Close() { h.transport.CloseIdleConnections() }

// Do calls the target once.
func (h *HTTP) Do(ctx context.Context, req Request) Result {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()

	token, err := h.token(ctx)
	if err != nil {
		return h.failed(ctx, ReasonCredentials, fmt.Errorf("get an identity token: %w", err))
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	out, err := h.newRequest(ctx, req, token)
	if err != nil {
		return h.failed(ctx, ReasonInvalid, err)
	}
	result, err := h.exchange(out)
	switch {
	case err == nil:
		return result
	case !connected.Load():
		return h.failed(ctx, ReasonRefused, err)
	default:
		return h.failed(ctx, ReasonBroken, withoutServerText(err))
	}
}

func (h *HTTP) exchange(out *http.Request) (Result, error) {
	in, err := h.transport.RoundTrip(out)
	if err != nil {
		return Result{}, err
	}
	defer in.Body.Close() // what is left unread makes it close the connection
	if in.StatusCode < 200 {
		return Result{}, fmt.Errorf("answered %d, which ends no request", in.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(in.Body, Limit+1))
	if err != nil {
		return Result{}, err
	}
	result := settle(Response{
		Status:          in.StatusCode,
		ContentType:     in.Header.Get("Content-Type"),
		ContentEncoding: in.Header.Get("Content-Encoding"),
		Body:            body,
	}, h.cfg.Retryable)
	if !result.Counts {
		result.RetryAfter = retryAfter(in.Header, h.now())
	}
	if result.Err != nil {
		result.Err = fmt.Errorf("target %q: %w", h.cfg.Name, result.Err)
	}
	return result, nil
}
