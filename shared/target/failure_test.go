package target_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/target"
)

// outcomes runs the same failure with and without a retry rule for it.
func outcomes(t *testing.T, url, reason string, counts bool) {
	t.Helper()
	for rule, want := range map[bool]target.Outcome{true: target.Retry, false: target.Final} {
		got := do(t, newHTTP(t, url, func(c *target.Config) {
			c.RetryRefused, c.RetryTimeout = rule, rule
		}))
		wantEnd(t, got, want, reason, counts)
		wantNoLeak(t, got.Err, "s3cret", "amount")
		if got.Response != nil {
			t.Errorf("a response where there was none: %+v", got.Response)
		}
	}
}

// deadline is a context whose deadline passes when the test says so.
type deadline struct {
	context.Context
	passed chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.passed }

func (d deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()

	for name, begin := range map[string]func(http.ResponseWriter){
		"before the response": func(http.ResponseWriter) {},
		"in the middle of the body": func(w http.ResponseWriter) {
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
		},
	} {
		for rule, want := range map[bool]target.Outcome{true: target.Retry, false: target.Final} {
			t.Run(fmt.Sprintf("%s is %v by the rule", name, want), func(t *testing.T) {
				t.Parallel()
				ctx := deadline{context.Background(), make(chan struct{})}
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					begin(w)
					close(ctx.passed)
					hang(w, r)
				})
				h := newHTTP(t, s.URL, func(c *target.Config) { c.RetryTimeout = rule })
				wantEnd(t, h.Do(ctx, charge()), want, "timeout", true)
			})
		}
	}

	t.Run("of the target itself", func(t *testing.T) {
		t.Parallel()
		url := serve(t, hang).URL
		for timeout := 20 * time.Millisecond; ; timeout *= 2 {
			got := do(t, newHTTP(t, url, func(c *target.Config) { c.Timeout = timeout }))
			if got.Reason == "refused" {
				continue // this machine is so busy that not even the connection was made
			}
			wantEnd(t, got, target.Retry, "timeout", true)
			return
		}
	})

	t.Run("in the TLS handshake is no attempt", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		url := serveRaw(t, func(net.Conn) { <-release })
		t.Cleanup(func() { close(release) })
		got := do(t, newHTTP(t, "https"+url[len("http"):], func(c *target.Config) { c.Timeout = time.Millisecond }))
		wantEnd(t, got, target.Retry, "refused", false)
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()

	t.Run("by a port where nobody listens", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		outcomes(t, "http://"+l.Addr().String()+"/?key=s3cret", "refused", false)
	})
	t.Run("by a server that speaks no TLS", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came through") })
		outcomes(t, "https"+s.URL[len("http"):], "refused", false)
	})
	t.Run("for a certificate that is not trusted", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came through") }))
		s.Config.ErrorLog = discardLog
		s.StartTLS()
		t.Cleanup(s.Close)
		outcomes(t, s.URL, "refused", false)
	})
}

func TestBroken(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no answer at all":            "",
		"no HTTP":                     "s3cret\r\n\r\n",
		"no status":                   "HTTP/1.1 s3cret\r\n\r\n",
		"another version":             "s3cret/9 200 OK\r\n\r\n",
		"a header without colon":      "HTTP/1.1 200 OK\r\ns3cret\r\n\r\n",
		"a folded first header":       "HTTP/1.1 200 OK\r\n s3cret\r\n\r\n",
		"a bad content length":        "HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n",
		"two content lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"an unknown encoding":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: s3cret\r\n\r\n",
		"a bad trailer":               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n",
		"headers cut short":           "HTTP/1.1 200 OK\r\nContent-Le",
		"a body cut short":            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"a chunk cut short":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
		"a bad chunk":                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ns3cret\r\n",
		"a protocol nobody asked for": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: s3cret\r\nConnection: upgrade\r\n\r\n",
		"a status below 100":          "HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run("by "+name, func(t *testing.T) {
			t.Parallel()
			url := serveRaw(t, func(conn net.Conn) {
				readRequest(bufio.NewReader(conn))
				io.WriteString(conn, answer)
			})
			outcomes(t, url, "broken", true)
		})
	}

	t.Run("by endless headers", func(t *testing.T) {
		t.Parallel()
		url := serveRaw(t, func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(conn, "X-S3cret: s3cret\r\n"); err != nil {
					return
				}
			}
		})
		outcomes(t, url, "broken", true)
	})
}

func TestTheCauseOfTheContextIsTheReason(t *testing.T) {
	t.Parallel()
	for reason, cause := range map[string]error{
		"lease-lost": target.ErrLeaseLost,
		"canceled":   errors.New("shutting down"),
	} {
		t.Run(reason+" while the target works", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			left := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(left)
				cancel(cause)
				hang(w, r)
			})
			got := newHTTP(t, s.URL, nil).Do(ctx, charge())
			wantEnd(t, got, target.Retry, reason, true)
			if !errors.Is(got.Err, cause) {
				t.Errorf("error %v does not wrap its cause", got.Err)
			}
			<-left // the target is told: its request is gone
		})
		t.Run(reason+" before the call", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(cause)
			s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came through") })
			wantEnd(t, newHTTP(t, s.URL, nil).Do(ctx, charge()), target.Retry, reason, true)
		})
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, handler http.HandlerFunc) *target.HTTP {
		s := httptest.NewUnstartedServer(handler)
		s.EnableHTTP2 = true
		s.Config.ErrorLog = discardLog
		s.StartTLS()
		t.Cleanup(s.Close)
		h := newHTTP(t, s.URL, nil)
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		h.Trust(pool)
		return h
	}

	t.Run("is spoken with a server that does", func(t *testing.T) {
		t.Parallel()
		h := start(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.Proto+r.Header.Get("Idempotency-Key"))
		})
		got := do(t, h)
		wantEnd(t, got, target.Accept, "status", true)
		if got, want := string(got.Response.Body), "HTTP/2.0"+charge().ID; got != want {
			t.Errorf("body is %q, want %q", got, want)
		}
	})
	t.Run("that breaks a stream is not asked twice", func(t *testing.T) {
		t.Parallel()
		var calls sync.Map
		h := start(t, func(_ http.ResponseWriter, r *http.Request) {
			if _, again := calls.LoadOrStore(r.Header.Get("Seriatim-Request-Id"), true); again {
				t.Error("the request came twice")
			}
			panic(http.ErrAbortHandler)
		})
		wantEnd(t, do(t, h), target.Retry, "broken", true)
	})
}

func TestManyCallsAtOnceKeepTheirAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	h := newHTTP(t, s.URL, nil)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for range 5 {
				req := charge()
				req.Body = []byte{byte(i)}
				got := h.Do(context.Background(), req)
				if got.Outcome != target.Accept || len(got.Response.Body) != 1 || got.Response.Body[0] != byte(i) {
					t.Errorf("call %d: got %+v, response %+v", i, got, got.Response)
				}
			}
		})
	}
	wg.Wait()
}
