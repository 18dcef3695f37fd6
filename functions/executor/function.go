package executor

import (
	"net/http"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	"github.com/seriatim/seriatim/shared/bundle"
)

// The function is made with its first request: importing the package needs no environment.
func init() {
	f := &bundle.Function{Assemble: func(p *bundle.Parts) http.Handler { return Guard(p.Config.Callers, p.Clock, Wire(p, nil)) }}
	functions.HTTP("Executor", f.ServeHTTP)
}
