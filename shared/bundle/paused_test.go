package bundle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

func TestAPausedTargetStaysPausedWhenRedisIsEmptied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := environment(t)
	env["SERIATIM_REDIS_URL"] = server.URL()
	c, err := FromEnv(function(env).Lookup)
	if err != nil {
		t.Fatal(err)
	}
	c.Records, c.Marks = record.NewMemory(time.Now), marks.NewMemory(time.Now)
	p, err := Open(t.Context(), c, &target.Set{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if err := p.PausedTargets.Set(t.Context(), "work", true); err != nil {
		t.Fatal(err)
	}
	if err := p.Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := p.Generation.Refresh(t.Context()); err != nil { // as Check finds out within a second
		t.Fatal(err)
	}
	g, err := p.Generation.Current()
	if err != nil || g.RestoreUntil == 0 {
		t.Fatalf("%+v, %v; want a loss", g, err)
	}
	_, _ = p.Slots.Paused(t.Context())
	p.restoring.work.Wait()
	other := slot.NewPausedTargets(p.Redis, time.Now)
	for what, list := range map[string]func(context.Context) ([]string, error){"this instance": p.Slots.Paused, "another": other.List} {
		names, err := list(t.Context())
		if err != nil || !slices.Equal(names, []string{"work"}) {
			t.Errorf("%s: paused %q, %v; want work", what, names, err)
		}
	}
}

func TestPausedTargetsAreRestoredOncePerLoss(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	r := &restoring{}
	first, lost, again := slot.Generation{Number: 1}, slot.Generation{Number: 2, RestoreUntil: 9}, slot.Generation{Number: 3, RestoreUntil: 9}
	for i, step := range []struct {
		g     slot.Generation
		after time.Duration
		want  bool
		err   error
	}{
		{first, 0, false, nil},
		{lost, 0, true, errors.New("Firestore is away")},
		{lost, slot.PausedWithin - 1, false, nil},
		{lost, 1, true, nil},
		{lost, time.Hour, false, nil},
		{again, 0, true, nil},
		{again, time.Hour, false, nil},
	} {
		now = now.Add(step.after)
		if got := r.begin(step.g, now); got != step.want {
			t.Errorf("step %d: restores %t, want %t", i, got, step.want)
		} else if got {
			r.end(step.g, step.err)
		}
	}
}
