package ingest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/logging"
)

const (
	// healthLife is how long a state of health is told again without a look.
	healthLife = 5 * time.Second
	// checkTimeout bounds each check.
	checkTimeout = 2 * time.Second
)

var errSlow = errors.New("the check took too long")

// Check says whether a dependency can be reached. It must be safe for concurrent use.
type Check func(ctx context.Context) error

// Health has a check for each dependency; nil where there is none.
type Health struct{ Redis, Queue, Firestore Check }

// The words of the state of health.
const (
	healthOK       = "ok"
	healthStarting = "starting"
	healthFailing  = "failing"
)

type healthState struct {
	Status string            `json:"status"`
	Checks map[string]string `json:"checks"`
}

// monitor keeps the last state of health.
type monitor struct {
	checks map[string]Check
	clock  clock.Clock

	mu      sync.Mutex // held while looking: callers at once share one look
	looked  time.Time
	reached map[string]bool // has been reached once
	last    healthState
}

func newMonitor(h Health, c clock.Clock) *monitor {
	m := &monitor{checks: map[string]Check{}, clock: c, reached: map[string]bool{}}
	for name, check := range map[string]Check{"redis": h.Redis, "queue": h.Queue, "firestore": h.Firestore} {
		if check != nil {
			m.checks[name] = check
		}
	}
	return m
}

// healthState answers 200 while all is well.
func (c *call) healthState() error {
	state := c.health.state(context.WithoutCancel(c.r.Context()))
	if state.Status == healthOK {
		return c.json(http.StatusOK, state)
	}
	c.w.Header().Set("Retry-After", wholeSeconds(healthLife))
	return c.json(http.StatusServiceUnavailable, state)
}

func (m *monitor) state(ctx context.Context) healthState {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looked.IsZero() || m.clock.Now().Sub(m.looked) >= healthLife {
		m.last = m.look(ctx)
		m.looked = m.clock.Now()
	}
	return m.last
}

// look runs all checks at once, and waits for none longer than checkTimeout.
func (m *monitor) look(ctx context.Context) healthState {
	type outcome struct {
		name string
		err  error
	}
	outcomes := make(chan outcome, len(m.checks))
	ctx, stop := clock.WithTimeout(ctx, m.clock, checkTimeout, errSlow)
	defer stop()
	for name, check := range m.checks {
		m.clock.Go(func() { outcomes <- outcome{name, check(ctx)} })
	}
	errs := make(map[string]error, len(m.checks))
	for name := range m.checks {
		errs[name] = errSlow
	}
	for range m.checks {
		select {
		case o := <-outcomes:
			errs[o.name] = o.err
		case <-ctx.Done():
		}
	}
	return m.judge(ctx, errs)
}

// judge tells a dependency that was never reached (starting) from one that is no longer (failing).
func (m *monitor) judge(ctx context.Context, errs map[string]error) healthState {
	state := healthState{Status: healthOK, Checks: map[string]string{}}
	for name, err := range errs {
		word := healthOK
		switch {
		case err == nil:
			m.reached[name] = true
		case m.reached[name]:
			word = healthFailing
		default:
			word = healthStarting
		}
		state.Checks[name] = word
		if word == healthFailing || state.Status == healthOK {
			state.Status = word
		}
		if err != nil {
			logging.FromContext(ctx).WarnContext(ctx, "health check failed", "check", name, logging.Error, err.Error())
		}
	}
	return state
}
