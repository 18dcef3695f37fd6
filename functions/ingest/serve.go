package ingest

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/lanekey"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
)

// call is one HTTP request that has found its route.
type call struct {
	*Handler
	w http.ResponseWriter
	r *http.Request
	// lane is that of the path's key, id the request id as it was sent, name the target's; zero where the path has none.
	lane lane.Lane
	id   string
	name string
}

// ServeHTTP answers one call. Every error becomes problem details here and nowhere else.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &writer{ResponseWriter: w}
	out.Header().Set("Cache-Control", "no-store") // every answer is of the moment
	defer func() {
		if p := recover(); p != nil {
			panicked(out, r, p)
		}
	}()
	done, ok := h.Drain.Begin()
	if !ok {
		problem.Write(out, r, problem.New(problem.Unavailable, "This instance is shutting down. Send the request again.").
			WithRetryAfter(time.Second))
		return
	}
	defer done()
	if err := h.dispatch(out, r); err != nil {
		problem.Write(out, r, err)
	}
}

func (h *Handler) dispatch(w http.ResponseWriter, r *http.Request) error {
	rt, args, allow, err := find(r)
	if err != nil {
		if allow != "" {
			w.Header().Set("Allow", allow)
		}
		return err
	}
	name, _ := url.PathUnescape(args["name"]) // net/http has refused what it cannot decode
	c := &call{Handler: h, w: w, r: r, id: args["id"], name: name}
	if escaped, ok := args["key"]; ok {
		if err := c.bind(escaped); err != nil {
			return err
		}
	}
	if err := c.allowed(rt); err != nil {
		return err
	}
	return rt.serve(c)
}

// bind finds the lane of the path's key, and names it in every log line from here on.
func (c *call) bind(escaped string) error {
	key, err := lanekey.Parse(escaped)
	if err != nil {
		return problem.New(problem.MalformedKey, sentence(err)).WithCause(err)
	}
	if c.lane, err = lane.Bind(c.Policy, key); err != nil {
		return problem.New(problem.NoLanePolicy,
			"No lane policy of the configuration matches the key. Check the key, or add a policy for it.").WithCause(err)
	}
	log := logging.FromContext(c.r.Context()).With(logging.Lane, key)
	c.r = c.r.WithContext(logging.WithContext(c.r.Context(), log))
	return nil
}

// writer knows whether an answer has begun.
type writer struct {
	http.ResponseWriter
	begun bool
}

func (w *writer) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// panicked answers for a fault of ours. An answer that has begun cannot be taken back: the connection is cut instead.
func panicked(w *writer, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // what net/http compares as well
		panic(p)
	}
	cause := fmt.Errorf("panic with a %T", p) // its text could hold a payload
	if err, ok := p.(error); ok {
		cause = fmt.Errorf("panic: %w", err)
	}
	logging.FromContext(r.Context()).ErrorContext(r.Context(), "ingest panicked",
		logging.Error, cause.Error(), "stack", string(debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	problem.Write(w, r, cause)
}
