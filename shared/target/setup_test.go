package target_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatim/seriatim/shared/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the fixed clock of the tests, and the Date of their servers.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func charge() target.Request {
	return target.Request{
		Key: "tenant-42:product-7", ID: "k5vqzgfe2mrtn7wybl3xahod4s",
		Ticket: 1796119200007, Fence: 1796119200019, Attempt: 2,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   []byte(`{"amount":7}`),
	}
}

// newHTTP returns a target that retries whatever may be retried.
func newHTTP(t *testing.T, url string, change func(*target.Config), opts ...target.Option) *target.HTTP {
	t.Helper()
	cfg := target.Config{Name: "billing", URL: url, Timeout: time.Minute, RetryTimeout: true, RetryRefused: true}
	if change != nil {
		change(&cfg)
	}
	opts = append([]target.Option{target.WithClock(func() time.Time { return noon })}, opts...)
	h, err := target.New(cfg, opts...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(h.Close)
	return h
}

// serve starts an HTTP server that is stopped, after its clients, at the end.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// serveRaw answers each connection with what handle writes, for servers that
// net/http would not let misbehave. It returns the URL.
func serveRaw(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handle(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// hang keeps a handler busy until its client is gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // the server notices a leaving client only after the body
	<-r.Context().Done()
}

func wantEnd(t *testing.T, got target.Result, outcome target.Outcome, reason string, counts bool) {
	t.Helper()
	if got.Outcome != outcome || got.Reason != reason || got.Counts != counts {
		t.Errorf("got %v, reason %q, counts %t (error: %v); want %v, %q, %t",
			got.Outcome, got.Reason, got.Counts, got.Err, outcome, reason, counts)
	}
	if (got.Err == nil) != (outcome == target.Accept) {
		t.Errorf("error is %v after %v", got.Err, got.Outcome)
	}
}

func wantNoLeak(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("error %q shows %q", err, secret)
		}
	}
}

func do(t *testing.T, x target.Target) target.Result {
	t.Helper()
	return x.Do(context.Background(), charge())
}
