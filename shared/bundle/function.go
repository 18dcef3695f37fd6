package bundle

import (
	"context"
	"net/http"
	"os"
	"sync"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/target"
)

// Function is the life of one function in its process: made with its first request, from the environment, ended by SIGTERM.
// The zero value needs Assemble; it is safe for concurrent use.
type Function struct {
	// Assemble makes the handler from the parts.
	Assemble func(*Parts) http.Handler

	once    sync.Once
	handler http.Handler
}

// ServeHTTP answers a request of the functions framework. When the environment is at fault, every request is answered 500 and
// the log says what is wrong: a function that exits at start shows nothing but a failed deployment.
func (f *Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.once.Do(func() { f.handler = f.open(context.WithoutCancel(r.Context())) })
	f.handler.ServeHTTP(w, r)
}

func (f *Function) open(ctx context.Context) http.Handler {
	c, err := FromEnv(os.LookupEnv)
	log := c.Logger(os.Stderr)
	if err == nil {
		var p *Parts
		if p, err = Open(ctx, c, &target.Default); err == nil {
			shutdown.OnSIGTERM(p.Drain, os.Exit)
			handler := f.Assemble(p)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r.WithContext(logging.WithContext(r.Context(), log.With(logging.Trace(r).Attrs()...))))
			})
		}
	}
	log.Log(ctx, logging.Critical, "the function cannot start: set its environment right and deploy again", "error", err)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "misconfigured: see the log", http.StatusInternalServerError)
	})
}
