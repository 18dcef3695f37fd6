package chaos

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// operator steers lanes at random. Calls whose answer is lost are sent again, as an operator would.
type operator struct {
	clients *clients
	dice    *dice
	log     *journal
}

// insist sends a call until it is answered.
func (o *operator) insist(ctx context.Context, method, path string) answer {
	for ctx.Err() == nil {
		if a, err := o.clients.call(ctx, method, path); err == nil {
			return a
		}
		pause(ctx, o.dice.between(100*time.Millisecond, 400*time.Millisecond))
	}
	return answer{}
}

// holds pauses one of the lanes that are for it for a while, now and then, until ctx ends; the lane goes on then.
func (o *operator) holds(ctx context.Context, lanes []lane) {
	lanes = slices.DeleteFunc(slices.Clone(lanes), func(l lane) bool { return !l.held })
	for {
		pause(ctx, o.dice.about(5*time.Second))
		if ctx.Err() != nil {
			return
		}
		l := lanes[o.dice.intN(len(lanes))]
		d := o.dice.between(200*time.Millisecond, 3*time.Second)
		e := o.log.begin("hold", l.key)
		o.insist(ctx, http.MethodPost, "/v1/lanes/"+l.key+"/pause")
		pause(ctx, d)
		o.insist(context.WithoutCancel(ctx), http.MethodPost, "/v1/lanes/"+l.key+"/resume")
		o.log.end(e)
	}
}

// cancels cancels what may be canceled, once it is known to be taken.
func (o *operator) cancels(ctx context.Context) {
	tried := map[*request]bool{}
	for ctx.Err() == nil {
		for _, r := range o.clients.list() {
			r.mu.Lock()
			ready := r.cancel && !tried[r] && !r.acked.IsZero() && r.id != ""
			r.mu.Unlock()
			if !ready {
				continue
			}
			tried[r] = true
			if a := o.insist(ctx, http.MethodDelete, "/v1/lanes/"+r.lane.key+"/requests/"+r.id); a.code == http.StatusOK {
				r.mu.Lock()
				r.canceled = a.gotten
				r.mu.Unlock()
			}
		}
		pause(ctx, 300*time.Millisecond)
	}
}

// redrive has a request that the target has refused run again, once it is known to be dead.
func (o *operator) redrive(ctx context.Context, c *call) {
	pause(ctx, o.dice.between(0, 2*time.Second))
	o.log.note("redrive", c.id)
	for ctx.Err() == nil {
		if a := o.insist(ctx, http.MethodPost, "/v1/lanes/"+c.lane+"/dead-letters/"+c.id+"/redrive"); a.code == http.StatusAccepted {
			return
		}
		pause(ctx, 500*time.Millisecond) // not dead yet
		if a := o.insist(ctx, http.MethodGet, "/v1/lanes/"+c.lane+"/requests/"+c.id); a.status != "dead" && a.status != "running" {
			return // redriven: the answer was lost
		}
	}
}
