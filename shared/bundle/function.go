package bundle

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/target"
)

// Function is the life of one function in its process: made with its first request, from the environment, ended by SIGTERM.
// The zero value needs Assemble; it is safe for concurrent use.
type Function struct {
	// Assemble makes the handler from the parts.
	Assemble func(*Parts) http.Handler
	// Lookup reads the environment.
	// Default: os.LookupEnv.
	Lookup func(string) (string, bool)

	open func(context.Context, Config, *target.Set) (*Parts, error) // a test's, else Open

	mu      sync.Mutex
	handler http.Handler
}

// ServeHTTP answers a request of the functions framework. When the environment is at fault, every request is answered 500 and
// the log says what is wrong: a function that exits at start shows nothing but a failed deployment. When the parts cannot be
// made, as may be at a cold start before the network is there, the answer is 503 and the next request tries again.
func (f *Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.current(context.WithoutCancel(r.Context())).ServeHTTP(w, r)
}

// current is the function's handler, or one for this request only where there is none yet.
func (f *Function) current(ctx context.Context) http.Handler {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handler != nil {
		return f.handler
	}
	lookup := f.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	c, err := FromEnv(lookup)
	log := c.Logger(os.Stderr)
	slog.SetDefault(log) // of what has no request's context: a subscription that reconnects may be the first to see that Redis was lost
	if err != nil {
		log.Log(ctx, logging.Critical, "the function cannot start: set its environment right and deploy again", logging.Error, err.Error())
		f.handler = traced(log, refusing(problem.New(problem.Internal,
			"The service is not configured right: its log says which variables are at fault. Ask who runs it to deploy it again.")))
		return f.handler
	}
	open := f.open
	if open == nil {
		open = Open
	}
	p, err := open(ctx, c, &target.Default)
	if err != nil {
		log.ErrorContext(ctx, "the function is not ready: the next request tries again", logging.Error, err.Error())
		return traced(log, refusing(problem.New(problem.Starting, "The first connections are being made. Send the request again.").
			WithRetryAfter(5*time.Second)))
	}
	shutdown.OnSIGTERM(p.Drain, os.Exit)
	f.handler = traced(log, f.Assemble(p))
	return f.handler
}

// refusing answers as ingest would. Cloud Tasks, which calls the executor, reads the status alone.
func refusing(p *problem.Error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, p) })
}

// traced gives each request a logger with its trace.
func traced(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(logging.WithContext(r.Context(), log.With(logging.Trace(r).Attrs()...))))
	})
}
