package target_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/seriatim/seriatim/shared/target"
)

type received struct {
	Method, URI, Body string
	Header            http.Header
}

// record answers 200 and passes on what it got.
func record(t *testing.T) (url string, got <-chan received) {
	t.Helper()
	c := make(chan received, 1)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c <- received{Method: r.Method, URI: r.RequestURI, Body: string(body), Header: r.Header}
	})
	return s.URL, c
}

func TestWhatATargetReceives(t *testing.T) {
	t.Parallel()

	t.Run("is the body, what describes it, and which grant this is", func(t *testing.T) {
		t.Parallel()
		url, got := record(t)
		req := charge()
		req.Key = "Ü/%{}: x"
		req.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		req.Header.Set("Content-Encoding", "gzip")
		req.Header.Set("X-Tenant", "42")

		h := newHTTP(t, url+"/charge?a=b", func(c *target.Config) {
			c.Method = "PUT"
			c.Headers = map[string]string{"x-api-key": "s3cret", "X-Tenant": "7"}
		})
		wantEnd(t, h.Do(context.Background(), req), target.Accept, "status", true)

		want := received{Method: "PUT", URI: "/charge?a=b", Body: `{"amount":7}`, Header: http.Header{
			"Content-Type":        {"application/json"},
			"Content-Encoding":    {"gzip"},
			"Content-Length":      {"12"},
			"Idempotency-Key":     {req.ID},
			"Seriatim-Attempt":    {"2"},
			"Seriatim-Fence":      {"1796119200019"},
			"Seriatim-Key":        {"%C3%9C%2F%25%7B%7D:%20x"},
			"Seriatim-Request-Id": {req.ID},
			"Seriatim-Ticket":     {"1796119200007"},
			"Traceparent":         {req.Traceparent},
			"User-Agent":          {"seriatim"},
			"X-Api-Key":           {"s3cret"},
			"X-Tenant":            {"7"}, // the configured one, not the client's
		}}
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})

	t.Run("never holds a credential or a forged header, even one on the forward list", func(t *testing.T) {
		t.Parallel()
		url, got := record(t)
		req := charge()
		for _, name := range []string{
			"Authorization", "X-Serverless-Authorization", "Cookie", "Connection", "Te", "Transfer-Encoding", "Upgrade",
			"Proxy-Authorization", "X-CloudTasks-TaskName", "X-Goog-IAP-JWT-Assertion", "Forwarded", "X-Forwarded-For", "Host",
			"Seriatim-Fence", "seriatim-mac", "webhook-signature", "Traceparent", "Tracestate", "idempotency-key",
		} {
			req.Header[name] = []string{"forged"}
		}
		wantEnd(t, newHTTP(t, url, nil).Do(context.Background(), req), target.Accept, "status", true)
		for name, values := range (<-got).Header {
			if strings.Contains(strings.Join(values, ","), "forged") {
				t.Errorf("%s: %q was forwarded", name, values)
			}
		}
	})

	t.Run("has the client's idempotency key where there is one", func(t *testing.T) {
		t.Parallel()
		url, got := record(t)
		req := charge()
		req.IdempotencyKey = "order-9"
		newHTTP(t, url, nil).Do(context.Background(), req)
		if diff := cmp.Diff([]string{"order-9"}, (<-got).Header.Values("Idempotency-Key")); diff != "" {
			t.Errorf("Idempotency-Key (-want +got):\n%s", diff)
		}
	})

	for _, method := range []string{"GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH", "PURGE"} {
		t.Run("has no chunked body for an empty "+method, func(t *testing.T) {
			t.Parallel()
			url, got := record(t)
			req := charge()
			req.Body = nil
			newHTTP(t, url, func(c *target.Config) { c.Method = method }).Do(context.Background(), req)
			r := <-got
			if r.Method != method || r.Body != "" || r.Header.Get("Transfer-Encoding") != "" {
				t.Errorf("received %+v", r)
			}
			if length := r.Header.Get("Content-Length"); (method == "POST" || method == "PUT") && length != "0" {
				t.Errorf("Content-Length of an empty %s is %q, want 0", method, length)
			}
		})
	}

	t.Run("is not sent when a header cannot be", func(t *testing.T) {
		t.Parallel()
		req := charge()
		req.IdempotencyKey = "a\r\nX-Admin: yes"
		got := newHTTP(t, "http://127.0.0.1:1", nil).Do(context.Background(), req)
		wantEnd(t, got, target.Final, "invalid", true)
		wantNoLeak(t, got.Err, "X-Admin")
	})
}

func TestSignature(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	url, got := record(t)
	h := newHTTP(t, url, func(c *target.Config) { c.Secret = secret }, target.WithClock(time.Now))
	do(t, h)

	// The target checks it with the library's own verifier.
	r := <-got
	verifier, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify([]byte(r.Body), r.Header); err != nil {
		t.Errorf("Verify: %v", err)
	}
	if got, want := r.Header.Get("Webhook-Id"), charge().ID; got != want {
		t.Errorf("webhook-id is %q, want the request id %q", got, want)
	}
	if err := verifier.Verify([]byte(`{"amount":8}`), r.Header); err == nil {
		t.Error("a changed body verifies")
	}
}

func TestIdentityToken(t *testing.T) {
	t.Parallel()
	audience := func(c *target.Config) { c.Audience = "https://billing.example" }

	t.Run("is sent as bearer token", func(t *testing.T) {
		t.Parallel()
		url, got := record(t)
		do(t, newHTTP(t, url, audience, target.WithTokenSource(
			func(_ context.Context, audience string) (string, error) { return "token-for-" + audience, nil })))
		if got, want := (<-got).Header.Get("Authorization"), "Bearer token-for-https://billing.example"; got != want {
			t.Errorf("Authorization is %q, want %q", got, want)
		}
	})

	t.Run("that cannot be had is no attempt", func(t *testing.T) {
		t.Parallel()
		noMetadata := errors.New("no metadata server")
		got := do(t, newHTTP(t, "http://127.0.0.1:1", audience, target.WithTokenSource(
			func(context.Context, string) (string, error) { return "", noMetadata })))
		wantEnd(t, got, target.Retry, "credentials", false)
		if !errors.Is(got.Err, noMetadata) {
			t.Errorf("error %v does not wrap its cause", got.Err)
		}
	})

	t.Run("that does not come in time is no attempt", func(t *testing.T) {
		t.Parallel()
		h := newHTTP(t, "http://127.0.0.1:1", func(c *target.Config) {
			audience(c)
			c.Timeout = time.Millisecond
		}, target.WithTokenSource(func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		wantEnd(t, do(t, h), target.Retry, "credentials", false)
	})
}
