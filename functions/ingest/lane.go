package ingest

import (
	"context"
	"net/http"

	"github.com/seriatim/seriatim/shared/slot"
)

// laneState is the body of a lane's state. What does not apply is left out.
type laneState struct {
	Key string `json:"key"`
	// Depth counts unresolved requests, running ones too.
	Depth int64 `json:"depth"`
	// Head is the ticket that starts next.
	Head    int64          `json:"head,omitempty"`
	Running []runningState `json:"running"`
	// NextStart is the earliest start of the head or, where none waits and pace holds, of the next arrival.
	NextStart string `json:"next_start,omitempty"`
	// ETA is the slot of the last waiting request.
	ETA        string      `json:"eta,omitempty"`
	IntervalMS int64       `json:"interval_ms"`
	Paused     bool        `json:"paused"`
	Policy     policyState `json:"policy"`
	Why        why         `json:"why"`
}

type runningState struct {
	ID      string `json:"id"`
	Ticket  int64  `json:"ticket"`
	Started string `json:"started"`
}

type policyState struct {
	Name        string `json:"name"`
	SpacingMS   int64  `json:"spacing_ms"`
	Burst       int    `json:"burst"`
	Concurrency int    `json:"concurrency"`
}

// laneState answers the state of a lane; an unknown lane is an empty one.
func (c *call) laneState() error {
	ctx := c.r.Context()
	s, _, err := c.Inspector.Inspect(ctx, c.lane.Slot, "")
	if err != nil {
		return unavailable(err)
	}
	failed, err := c.lastFailure(ctx, s)
	if err != nil {
		return unavailable(err)
	}
	p := c.lane.Policy
	state := laneState{
		Key: c.lane.Slot.Key, Depth: s.Depth, Head: s.Next.Ticket, Running: make([]runningState, len(s.Running)),
		NextStart: timestamp(nextStart(s)), ETA: timestamp(s.Last), IntervalMS: s.Interval.Milliseconds(), Paused: s.Paused,
		Policy: policyState{Name: p.Name, SpacingMS: p.Spacing.Milliseconds(), Burst: p.Burst, Concurrency: p.Concurrency},
		Why:    explain(c.lane.Slot.Key, s, failed),
	}
	for i, r := range s.Running {
		state.Running[i] = runningState{ID: r.Request, Ticket: r.Ticket, Started: formatTime(r.Started)}
	}
	return c.json(http.StatusOK, state)
}

// lastFailure returns the record of the head where it waits for another attempt; only that tells why.
func (c *call) lastFailure(ctx context.Context, s slot.State) (slot.Record, error) {
	if s.HeadNotBefore <= s.Now {
		return slot.Record{}, nil
	}
	_, r, err := c.Inspector.Inspect(ctx, c.lane.Slot, s.Next.Request)
	return r.Record, err
}

// nextStart is 0 where nobody can say.
func nextStart(s slot.State) int64 {
	switch {
	case s.Next.Ticket != 0 && s.Next.At != 0:
		return max(s.HeadRun, s.Now)
	case s.Next.Ticket == 0 && s.Gate > s.Now:
		return s.Gate
	}
	return 0
}
