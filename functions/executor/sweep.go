package executor

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
)

// sweepBudget bounds one sweep. The next goes on where it ended.
const sweepBudget = 50 * time.Second

// Swept is what a sweep did, as POST /sweep answers it.
type Swept struct {
	// Lanes were looked at; Kicked of them were standing although they could go on; Failed could not be read or kicked.
	Lanes  int `json:"lanes"`
	Kicked int `json:"kicked"`
	Failed int `json:"failed"`
}

// Sweep looks for lanes whose head may start and has had nobody there for longer than any fault explains, and leaves each a
// kick: the last resort where the one task that would have come is lost or very late. It is bounded in time and in what it
// asks of Redis. The error is of Redis: then nothing was looked at.
func (e *Executor) Sweep(ctx context.Context) (Swept, error) {
	began := e.Clock.Now()
	keys, err := e.Lanes(ctx)
	if err != nil {
		return Swept{}, err
	}
	var swept Swept
	for _, key := range keys {
		if e.Clock.Now().Sub(began) > sweepBudget || e.draining() {
			break
		}
		l, err := lane.Bind(e.Policy, key)
		if err != nil {
			continue // no policy matches any more: its tasks say so when they come
		}
		swept.Lanes++
		kicked, err := e.sweep(logging.WithContext(ctx, logging.FromContext(ctx).With(logging.Lane, key)), l)
		switch {
		case err != nil:
			swept.Failed++
		case kicked:
			swept.Kicked++
		}
	}
	return swept, nil
}

func (e *Executor) sweep(ctx context.Context, l lane.Lane) (kicked bool, err error) {
	log := logging.FromContext(ctx)
	defer func() {
		if err != nil {
			log.WarnContext(ctx, "sweeping a lane failed", logging.Error, err.Error())
		}
	}()
	s, _, err := e.Inspector.Inspect(ctx, l.Slot, "")
	if err != nil {
		return false, err
	}
	idle := time.Duration(s.Now-s.HeadRun) * time.Millisecond
	if s.Next.Ticket == 0 || s.Next.At == 0 || idle <= l.Slot.Lease+slot.Grace || lane.InTime(l, s.Seen) {
		return false, nil
	}
	if err := e.Tasks.Kick(ctx, l, lane.View{Seen: s.Seen, Received: e.Clock.Now()}, s.Now); err != nil {
		return false, err
	}
	log.WarnContext(ctx, "lane swept", "cause", cause(s), logging.Ticket, s.Next.Ticket, "idle_ms", idle.Milliseconds())
	return true, nil
}

// cause says why nobody was there for the head.
func cause(s slot.State) string {
	switch {
	case s.Missing == s.Next.Ticket:
		return "task-missing"
	case s.Next.Unconfirmed() && s.Next.Deadline < s.Now:
		return "hole"
	case s.Next.Here:
		return "waiter-gone"
	case s.Next.Due > s.Now:
		return "scheduled-late"
	}
	return "dispatch-late"
}

func (e *Executor) serveSweep(ctx context.Context) (int, []byte) {
	swept, err := e.Sweep(ctx)
	if err != nil {
		logging.FromContext(ctx).ErrorContext(ctx, "sweep failed", logging.Error, err.Error())
		return http.StatusServiceUnavailable, nil // Cloud Scheduler's, not a queue's
	}
	body, err := json.Marshal(swept)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, body
}
