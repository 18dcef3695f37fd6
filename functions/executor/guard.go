package executor

import (
	"net/http"

	"github.com/seriatim/seriatim/shared/caller"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/logging"
)

// sweepPath is the one path that Cloud Scheduler calls; all others are Cloud Tasks'.
const sweepPath = "/sweep"

// Guard passes on to next what its caller may ask: Cloud Scheduler's account the sweep, Cloud Tasks' account all else. Others are
// answered 403, which keeps a task and slows no queue.
func Guard(callers caller.Config, c clock.Clock, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := callers.Tasks
		if r.URL.Path == sweepPath {
			account = callers.Sweep
		}
		if err := callers.Check(r.Header, account, c.Now()); err != nil {
			ctx := r.Context()
			logging.FromContext(ctx).ErrorContext(ctx, "call refused: its token does not say that it is from Cloud Tasks or Cloud Scheduler",
				logging.Task, r.Header.Get(taskHeader), logging.Error, err.Error())
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
