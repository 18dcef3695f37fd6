package ingest

import (
	"net/http"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
)

// targetState is the body of a target's state.
type targetState struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused"`
}

// pauseTarget stops every run against one target; resumeTarget lets them go on. Lanes that stand on it are found by the sweep.
func (c *call) pauseTarget() error  { return c.setTarget(true) }
func (c *call) resumeTarget() error { return c.setTarget(false) }

func (c *call) setTarget(paused bool) error {
	if c.Policy.Targets[c.name] == nil {
		return problem.New(problem.UnknownTarget, "The configuration has no target of that name.")
	}
	ctx := c.r.Context()
	if err := c.PausedTargets.Set(ctx, c.name, paused); err != nil {
		return unavailable(err)
	}
	logging.FromContext(ctx).InfoContext(ctx, "target paused or resumed", "target", c.name, "paused", paused)
	return c.json(http.StatusOK, targetState{Name: c.name, Paused: paused})
}
