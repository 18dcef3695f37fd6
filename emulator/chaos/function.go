package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"syscall"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/seriatim/seriatim/functions/executor" // the two functions, of which Serve serves one
	_ "github.com/seriatim/seriatim/functions/ingest"
)

// Command is the argument with which a program that calls Serve is started as one of the functions.
const Command = "chaos-function"

// Serve is such a program: one function, as the functions framework serves it, configured by its environment. PORT is where it
// listens on the loopback address, FUNCTION_TARGET which function it is.
func Serve() error {
	return funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT"))
}

// function is an instance of one of the functions. Its port stays when it is killed and started again. Its methods are safe for
// concurrent use.
type function struct {
	name, entry string
	port        int
	environment func(life string) []string
	launch      func(ctx context.Context, name string, port int, env []string) (*process, error)
	relay       *httputil.ReverseProxy

	fault sync.Mutex // held through every fault of it

	mu   sync.Mutex
	p    *process
	life int
	up   bool
}

func newFunction(name, entry string) (*function, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	f := &function{name: name, entry: entry, port: port}
	f.relay = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: local(port)})
	f.relay.ErrorLog = discard
	f.relay.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) {
		http.Error(w, "the instance is gone", http.StatusServiceUnavailable) // what Cloud Run says
	}
	return f, nil
}

// start begins another life of it.
func (f *function) start(ctx context.Context) error {
	f.mu.Lock()
	f.life++
	life := fmt.Sprintf("%s.%d", f.name, f.life)
	f.mu.Unlock()
	env := append(f.environment(life), "FUNCTION_TARGET="+f.entry, fmt.Sprintf("PORT=%d", f.port))
	p, err := f.launch(ctx, f.name, f.port, env)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.p, f.up = p, true
	return nil
}

// down takes it away from the balancer.
func (f *function) down() (p *process, life string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up = false
	return f.p, fmt.Sprintf("%s.%d", f.name, f.life)
}

func (f *function) isUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up
}

// kill ends it at once, in the middle of all it does, and returns which life that was.
func (f *function) kill() (life string) {
	p, life := f.down()
	if p != nil {
		p.kill()
	}
	return life
}

// term has it shut down, as Cloud Run does when it takes an instance away: 10 s later it is killed.
func (f *function) term(ctx context.Context) (life string) {
	p, life := f.down()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
	}
	return life
}

// stop freezes it and returns what thaws it. It still gets requests.
func (f *function) stop() (life string, thaw func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.p
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	return fmt.Sprintf("%s.%d", f.name, f.life), func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
}
