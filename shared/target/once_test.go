package target_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/seriatim/seriatim/shared/target"
)

var discardLog = log.New(io.Discard, "", 0)

func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

// treacherous answers the first request and keeps the connection, then takes
// every further one and hangs up without an answer. It counts requests.
func treacherous(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	return serveRaw(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for readRequest(r) == nil {
			if requests.Add(1) > 1 {
				return
			}
			io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}), requests
}

func TestARequestIsNotSentTwiceWhenAReusedConnectionBreaks(t *testing.T) {
	t.Parallel()

	t.Run("although net/http would", func(t *testing.T) {
		t.Parallel()
		url, requests := treacherous(t)
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		for range 2 {
			req, err := http.NewRequest("POST", url, bytes.NewReader([]byte("x")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Idempotency-Key", "order-9")
			if resp, err := transport.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
		}
		if n := requests.Load(); n != 3 {
			t.Fatalf("net/http sent %d requests, want 3: the tests below prove nothing any more", n)
		}
	})

	for _, method := range []string{"GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PATCH", "PURGE"} {
		for name, body := range map[string][]byte{"with a body": []byte("x"), "without a body": nil} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				url, requests := treacherous(t)
				h := newHTTP(t, url, func(c *target.Config) {
					c.Method = method
					c.Headers = map[string]string{"X-Idempotency-Key": "order-9"}
				})
				req := charge()
				req.Body = body
				wantEnd(t, h.Do(context.Background(), req), target.Accept, "status", true)
				wantEnd(t, h.Do(context.Background(), req), target.Retry, "broken", true)
				if n := requests.Load(); n != 2 {
					t.Errorf("2 attempts sent %d requests", n)
				}
			})
		}
	}
}
