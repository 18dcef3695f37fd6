package chaos

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// discard is for what HTTP servers and proxies say about connections that break, which is what happens here all the time.
var discard = log.New(io.Discard, "", 0)

// termTimeout is what Cloud Run gives an instance between SIGTERM and SIGKILL.
const termTimeout = 10 * time.Second

// balancer is the one address of a function: each request goes to any instance that is up.
type balancer struct {
	url       string
	instances []*function
	server    *http.Server
	see       func(r *http.Request) (answered func(status int)) // nil: nobody looks
}

// serve listens on a free port until the server is closed.
func serve(ctx context.Context, h http.Handler) (*http.Server, string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: discard}
	go func() { _ = s.Serve(l) }()
	return s, "http://" + l.Addr().String(), nil
}

func newBalancer(ctx context.Context, instances []*function, see func(*http.Request) func(int)) (b *balancer, err error) {
	b = &balancer{instances: instances, see: see}
	b.server, b.url, err = serve(ctx, b)
	return b, err
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var up []*function
	for _, f := range b.instances {
		if f.isUp() {
			up = append(up, f)
		}
	}
	if len(up) == 0 {
		http.Error(w, "no instance", http.StatusServiceUnavailable)
		return
	}
	if b.see != nil {
		answered := b.see(r)
		seen := &statusWriter{ResponseWriter: w}
		defer func() { answered(seen.status) }()
		w = seen
	}
	up[rand.IntN(len(up))].relay.ServeHTTP(w, r)
}

// statusWriter remembers the status of an answer, 0 before there is one.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
