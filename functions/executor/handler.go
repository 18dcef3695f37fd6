package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// maxBody is what Cloud Tasks can store, and so deliver.
const maxBody = 1 << 20

// taskHeader names the task of a delivery.
const taskHeader = "X-CloudTasks-TaskName"

// ServeHTTP answers one delivery of Cloud Tasks.
func (e *Executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	done, ok := e.Drain.Begin()
	if !ok {
		// Another instance takes the redelivery.
		http.Error(w, "shutting down", http.StatusConflict)
		return
	}
	defer done()
	log := logging.FromContext(r.Context()).With(logging.Task, r.Header.Get(taskHeader))
	ctx := logging.WithContext(r.Context(), log)
	status, body := e.serve(ctx, w, r)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (e *Executor) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) (status int, answer []byte) {
	log := logging.FromContext(ctx)
	defer func() {
		if p := recover(); p != nil {
			log.Log(ctx, logging.Critical, "executor panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			status = http.StatusConflict
		}
	}()
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, nil
	}
	if r.URL.Path == sweepPath {
		return e.serveSweep(ctx)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		log.WarnContext(ctx, "reading a delivery failed", "error", err)
		return http.StatusConflict, nil
	}
	env, err := e.Opener.Open(body, r.Header.Get(taskqueue.MACHeader))
	if err != nil {
		return refuse(ctx, log, err), nil
	}
	// Not the ticket: what is logged may be about another one, that this delivery drives.
	return e.Deliver(logging.WithContext(ctx, log.With(logging.Lane, env.Key)), env), nil
}

// refuse decides about an envelope that cannot be used: a wrong MAC and a newer version keep their task, since a key mistake or
// a roll-back must not destroy the queue; what was sealed by us and cannot be read never will be.
func refuse(ctx context.Context, log *slog.Logger, err error) int {
	switch {
	case errors.Is(err, taskqueue.ErrMAC):
		log.Log(ctx, logging.Critical, "task with a wrong MAC: compare SERIATIM_ENVELOPE_KEY of ingest and executor", "error", err)
		return http.StatusConflict
	case errors.Is(err, taskqueue.ErrVersion):
		log.ErrorContext(ctx, "task from newer code: deploy that version of the executor", "error", err)
		return http.StatusConflict
	default:
		log.ErrorContext(ctx, "task dropped: it cannot be decoded", "error", err)
		return http.StatusOK
	}
}

// Deliver handles one delivered envelope and returns the HTTP status for Cloud Tasks.
func (e *Executor) Deliver(ctx context.Context, env taskqueue.Envelope) int {
	log := logging.FromContext(ctx)
	bound, err := lane.Bind(e.Policy, env.Key)
	if err != nil {
		// The lane stands until a policy matches again: the queue keeps the task.
		log.ErrorContext(ctx, "task of a key that no lane policy matches", "error", err)
		return http.StatusConflict
	}
	if err := e.Exchange(ctx, bound.Policy.Name); err != nil {
		log.WarnContext(ctx, "exchanging intervals failed", "error", err)
	}
	d := &delivery{Executor: e, lane: bound, env: env, began: e.Clock.Now(), owner: e.Random.Nonce()}
	var status int
	switch env.Kind {
	case taskqueue.KindRequest:
		status = d.request(ctx)
	case taskqueue.KindKick:
		status = d.kicked(ctx)
	case taskqueue.KindFlush:
		status = d.flush(ctx)
	default:
		// Made by newer code that has been rolled back: its task waits for that code.
		log.ErrorContext(ctx, "task of a kind that this version does not handle", "kind", string(env.Kind))
		status = http.StatusConflict
	}
	d.beside.Wait()
	return status
}
