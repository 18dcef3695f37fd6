package target

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/seriatim/seriatim/shared/lanekey"
)

// userAgent is sent unless the configuration or a forwarded header has another.
const userAgent = "seriatim"

// newRequest builds the call: the headers from the least to the most binding.
func (h *HTTP) newRequest(ctx context.Context, req Request, token string) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, h.cfg.Method, h.cfg.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	out.Header.Set("User-Agent", userAgent)
	forward(out.Header, req.Header)
	for name, value := range h.cfg.Headers {
		out.Header.Set(name, value)
	}
	describe(out.Header, req)
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	if err := h.sign(out.Header, req); err != nil {
		return nil, err
	}
	sendOnce(out, req)
	return out, checkHeader(out.Header)
}

func forward(out, in http.Header) {
	for name, values := range in {
		if !owned(name) && !private(name) {
			out[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
}

// describe tells the target which request and which grant this is.
func describe(out http.Header, req Request) {
	out.Set("Seriatim-Key", lanekey.Escape(req.Key))
	out.Set("Seriatim-Request-Id", req.ID)
	out.Set("Seriatim-Ticket", strconv.FormatInt(req.Ticket, 10))
	out.Set("Seriatim-Fence", strconv.FormatInt(req.Fence, 10))
	out.Set("Seriatim-Attempt", strconv.FormatInt(req.Attempt, 10))
	if req.Traceparent != "" {
		out.Set("Traceparent", req.Traceparent)
	}
}

// sign adds the Standard Webhooks headers. The message id is the request's,
// so that a retry is the same message.
func (h *HTTP) sign(out http.Header, req Request) error {
	if h.signer == nil {
		return nil
	}
	now := h.now()
	signature, err := h.signer.Sign(req.ID, now, req.Body)
	if err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	out.Set("Webhook-Id", req.ID)
	out.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	out.Set("Webhook-Signature", signature)
	return nil
}

// checkHeader finds what net/http would refuse only after it is too late to
// tell from a refused connection.
func checkHeader(header http.Header) error {
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(values, invalidValue) {
			return fmt.Errorf("header %q cannot be sent over HTTP", name)
		}
	}
	return nil
}

func invalidValue(value string) bool { return !httpguts.ValidHeaderFieldValue(value) }

// owned reports whether a header is this package's or HTTP's own to set.
func owned(name string) bool {
	switch name = strings.ToLower(name); name {
	case "idempotency-key", "traceparent", "tracestate", "host", "content-length",
		"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade":
		return true
	}
	return hasAnyPrefix(name, "seriatim-", "webhook-", "proxy-")
}

// private reports whether a client's header must stay on this side whatever a
// forward list says: it is the client's credential here, or the platform's.
func private(name string) bool {
	switch name = strings.ToLower(name); name {
	case "authorization", "x-serverless-authorization", "cookie":
		return true
	}
	return hasAnyPrefix(name, "x-cloudtasks-", "x-goog", "forwarded", "x-forwarded-")
}

// ofBody reports whether a header describes the body, as only the client can.
func ofBody(name string) bool {
	return strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-Encoding")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
