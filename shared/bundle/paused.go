package bundle

import (
	"context"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/slot"
)

// paused lists the targets against which nothing starts, and looks as often whether Redis was emptied. What Redis has lost of them
// is put back beside what asked: nothing starts before the quarantine is over.
func (p *Parts) paused(ctx context.Context) ([]string, error) {
	_ = p.Generation.Check(ctx) // the script that follows meets the same error
	if g, err := p.Generation.Current(); err == nil && p.restoring.begin(g, p.Clock.Now()) {
		p.Clock.Go(func() { p.restoring.end(g, p.restorePaused(ctx)) })
	}
	return p.PausedTargets.List(ctx)
}

func (p *Parts) restorePaused(ctx context.Context) error {
	err := p.PausedTargets.Restore(context.WithoutCancel(ctx))
	if err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "paused targets not restored: tried again in a second", logging.Error, err.Error())
	}
	return err
}

// restoring remembers for which generation of Redis the paused targets have been restored. The zero value: for none.
type restoring struct {
	mu    sync.Mutex
	done  int64
	tried time.Time
	work  sync.WaitGroup
}

// begin says whether to restore now: once in each generation that follows a loss, and slot.PausedWithin after a try that failed.
func (r *restoring) begin(g slot.Generation, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.RestoreUntil == 0 || g.Number == r.done || now.Sub(r.tried) < slot.PausedWithin {
		return false
	}
	r.tried = now
	r.work.Add(1)
	return true
}

func (r *restoring) end(g slot.Generation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.work.Done()
	if err == nil {
		r.done = g.Number
	}
}
