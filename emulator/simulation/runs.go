package simulation

import (
	"context"
	"time"

	"github.com/seriatim/seriatim/shared/target"
)

// runBook is a call of the target that is under way.
type runBook struct {
	in  *instance
	ctx context.Context
	// asked is when the instance set out to call.
	asked time.Time
}

// excused says that the run may overlap its successor: its process is gone, or stood still, or it has been told to stop.
func (r *runBook) excused() bool {
	return r.in.dead.Load() || r.ctx.Err() != nil || r.in.stoodSince(r.asked)
}

// blink is how long runs may overlap: Redis counts in milliseconds, and a message takes a moment.
const blink = 5 * time.Millisecond

// ran sees a call of the target; it returns what to do when that ends.
func (o *oracle) ran(ctx context.Context, in *instance, asked time.Time, req target.Request, takes time.Duration) (ended func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs++
	o.work += takes
	o.took = append(o.took, takes)
	o.request(req.Key, req.ID).runs++
	o.world.note(req.Key, "%s calls the target for %s, fence %s", in.name, label(req.ID), short(req.Fence))
	if b := o.lane(req.Key); b.blind[req.Fence] {
		o.violate(req.Key, "I8: a grant is used whose caller had not noticed that Redis was lost")
	}
	b, run := o.lane(req.Key), &runBook{in: in, ctx: ctx, asked: asked}
	b.runs[run] = true
	if len(b.runs) > o.world.Concurrency {
		time.AfterFunc(blink, func() { o.together(b) })
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(b.runs, run)
	}
}

// together checks that no more runs are at the target than may be.
func (o *oracle) together(b *laneBook) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for r := range b.runs {
		if !r.excused() {
			n++
		}
	}
	if n > o.world.Concurrency {
		o.violate(b.key, "I1: %d runs are at the target at once", n)
	}
}
