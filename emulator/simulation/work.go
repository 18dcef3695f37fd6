package simulation

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/target"
)

// work is the target, as an instance calls it.
type work struct{ in *instance }

// Do takes as long as the scenario says. A caller that goes away, or dies, does not undo what has begun.
func (t *work) Do(ctx context.Context, req target.Request) target.Result {
	w, about, asked := t.in.world, req.ID+" "+number(req.Fence), time.Now()
	w.steps.Add(1)
	t.in.trouble("call " + about)
	r, f := w.dice.roll("handler", about), w.faults()
	w.mu.Lock()
	takes := r.span(w.Handler.Low, w.Handler.High)
	if w.Mean > 0 {
		takes = time.Duration(-math.Log(1-r.float()) * float64(w.Mean))
	}
	w.mu.Unlock()
	i := submitted(req)
	if w.Load != nil {
		takes = w.Load[i].Takes
	}
	if w.Down != nil && w.Down(time.Since(w.start)) {
		return result(target.Retry, http.StatusInternalServerError, about)
	}
	defer w.oracle.ran(ctx, t.in, asked, req, takes)()
	w.Watch(i, Started, time.Since(w.start))
	if err := pass(ctx, takes+r.span(time.Millisecond, 3*time.Millisecond)); err != nil {
		t.in.alive(about)
		reason := target.ReasonCanceled
		if errors.Is(err, target.ErrLeaseLost) {
			reason = target.ReasonLeaseLost
		}
		return target.Result{Outcome: target.Retry, Reason: reason, Counts: true, Err: err}
	}
	w.Watch(i, Ended, time.Since(w.start))
	t.in.trouble("after call " + about)
	switch {
	case w.strike("target retry", about, f.TargetRetry):
		return result(target.Retry, http.StatusInternalServerError, about)
	case w.strike("target later", about, f.TargetLater):
		later := result(target.Retry, http.StatusTooManyRequests, about)
		later.RetryAfter, later.Counts = r.span(time.Second, 5*time.Second), false
		return later
	case w.strike("target final", about, f.TargetFinal):
		return result(target.Final, http.StatusUnprocessableEntity, about)
	}
	return result(target.Accept, http.StatusOK, about)
}

// submitted is the index of the submission: its body is its client's name.
func submitted(req target.Request) int {
	i, err := strconv.Atoi(strings.TrimPrefix(string(req.Body), "c"))
	if err != nil {
		panic(err)
	}
	return i
}

func result(o target.Outcome, status int, body string) target.Result {
	return target.Result{
		Outcome: o, Reason: target.ReasonStatus, Counts: true,
		Response: &target.Response{Status: status, ContentType: "text/plain", Body: []byte(body)},
	}
}
