package executor

import (
	"context"
	"net/http"
	"testing"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

// What may have run is not run again by itself where the policy holds it, also when the executor lives that was cut off from Redis.
func TestARunThatIsCutOffWithItsLeaseIsUnknown(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s, lease: 5s, ambiguous: hold", func(t *testing.T, b *fixture) {
		e := b.submit("a")
		b.steps.on = func(verb string, after bool) error {
			if verb == "renew" && !after {
				b.lapse() // Redis was away for longer than the lease
			}
			return nil
		}
		b.behave = func(ctx context.Context, _ target.Request) (target.Response, error) {
			<-ctx.Done() // the work is done, and its answer is on the way
			return target.Response{}, context.Cause(ctx)
		}
		b.delivers(e, http.StatusConflict)
		b.steps.on, b.behave = nil, func(context.Context, target.Request) (target.Response, error) { return target.Response{}, nil }
		b.delivers(e, http.StatusOK)
		b.delivers(b.successor(e), http.StatusOK)
		if runs := len(b.calls); runs != 1 {
			t.Errorf("%d runs, want one: the first may have had its effect", runs)
		}
		s, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a")
		if err != nil || s.Stands != slot.StandsUnknown || r.Status != slot.Open {
			t.Errorf("the lane stands for %q and the request is %q, %v; want unknown, open", s.Stands, r.Status, err)
		}
	})
}
