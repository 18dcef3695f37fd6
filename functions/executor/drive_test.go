package executor

import (
	"context"
	"net/http"
	"testing"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

func TestAnOwnRunThatMightNotFitIsLeftToTheRedelivery(t *testing.T) {
	t.Parallel()
	b := newTimed(t, "spacing: 0s")
	b.submit("late")
	own := b.submit("own")
	b.forward(2 * slot.Grace) // the first one's task has not come: who waits behind it drives it
	clock := &hurried{}
	b.Clock = clock
	b.behave = func(context.Context, target.Request) (target.Response, error) {
		clock.passed.Store(int64(b.lane.DispatchDeadline()))
		return target.Response{}, nil
	}
	b.delivers(own, http.StatusConflict)
	if b.status("late") != slot.Done || b.status("own") != slot.Open {
		t.Errorf("late is %s, own is %s; want done, open", b.status("late"), b.status("own"))
	}
	b.delivers(own, http.StatusOK)
	if b.status("own") != slot.Done || len(b.calls) != 2 {
		t.Errorf("own is %s after %d runs, want done after 2", b.status("own"), len(b.calls))
	}
}
