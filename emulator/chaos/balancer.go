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

func newBalancer(ctx context.Context, instances []*function) (b *balancer, err error) {
	b = &balancer{instances: instances}
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
	up[rand.IntN(len(up))].relay.ServeHTTP(w, r)
}
