package executor

import (
	"context"

	"github.com/seriatim/seriatim/shared/bundle"
	"github.com/seriatim/seriatim/shared/slot"
)

// Wire returns an Executor made of the parts of one instance. observe is told of drives and snoozes; nil ignores them.
func Wire(p *bundle.Parts, observe func(Event)) *Executor {
	if observe == nil {
		observe = func(Event) {}
	}
	return New(Config{
		Policy: p.Config.Policy, Slots: p.Slots, Holes: p.Slots, Inspector: p.Slots, Queue: p.Queue, Opener: p.Config.Tasks.Keys,
		Records: p.Records, Wakes: p.Hub, Runner: p.Runner, Tasks: p.Tasks, CountMissing: p.CountMissing,
		Exchange: p.Intervals.Exchange, Observe: observe, Drain: p.Drain, Clock: p.Clock, Random: p.Random,
		Lanes: func(ctx context.Context) ([]string, error) { return slot.Lanes(ctx, p.Redis) },
	})
}
