package ingest

import (
	"context"
	"fmt"

	"github.com/seriatim/seriatim/shared/bundle"
	"github.com/seriatim/seriatim/shared/caller"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Wire returns a Handler made of the parts of one instance.
func Wire(p *bundle.Parts) *Handler {
	c := Config{
		Policy: p.Config.Policy, Slots: p.Slots, Inspector: p.Slots, Steering: p.Slots, Records: p.Records, Runner: p.Runner, Tasks: p.Tasks, Bodies: p.Queue,
		PausedTargets: p.PausedTargets, Ends: p.Hub, Exchange: p.Intervals.Exchange, Drain: p.Drain, Clock: p.Clock, Random: p.Random,
		Reads: Reads{Origins: p.Reads.Origins, Group: p.Reads.Group},
		Health: Health{
			Redis:     func(ctx context.Context) error { return p.Redis.Ping(ctx).Err() },
			Queue:     func(ctx context.Context) error { return checkQueue(ctx, p) },
			Firestore: checkRecords(p),
		},
	}
	if !p.Config.Callers.Off {
		c.Caller = caller.Email
	}
	return New(c)
}

// checkRecords reads where a record would be. It is nil without durable records.
func checkRecords(p *bundle.Parts) Check {
	if p.Records.Store == nil {
		return nil
	}
	return func(ctx context.Context) error {
		_, _, err := p.Records.Lookup(ctx, "health", "health")
		return err
	}
}

// checkQueue says whether the queue can be reached, works, and keeps its tasks: many heads without a task mean that it lost
// some, or that somebody purged it.
func checkQueue(ctx context.Context, p *bundle.Parts) error {
	state, err := p.Queue.State(ctx)
	if err != nil {
		return err
	}
	if state == taskqueue.Disabled {
		return fmt.Errorf("the queue is %s", state)
	}
	missing, err := slot.MissingCount(ctx, p.Redis, p.Clock.Now())
	if err != nil {
		return err
	}
	if missing > slot.MissingLimit {
		return fmt.Errorf("%d heads without a task this minute: voiding has stopped", missing)
	}
	return nil
}
