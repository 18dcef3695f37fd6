package simulation

import (
	"context"

	"github.com/seriatim/seriatim/shared/marks"
)

// marked are the marks of lanes and the paused targets as an instance reaches them: in the same database as the records.
type marked struct{ in *instance }

// Read is marks.Store's.
func (s *marked) Read(ctx context.Context, key string) (marks.Marks, error) {
	return stored(ctx, s.in, "read marks", key, func() (marks.Marks, error) { return s.in.world.marks.Read(ctx0, key) })
}

// Change is marks.Store's.
func (s *marked) Change(ctx context.Context, key string, change func(*marks.Marks)) (marks.Marks, error) {
	return stored(ctx, s.in, "change marks", key, func() (marks.Marks, error) { return s.in.world.marks.Change(ctx0, key, change) })
}

// targets packs the answer of Targets.
type targets struct {
	names []string
	known bool
}

// Targets is slot.PausedStore's.
func (s *marked) Targets(ctx context.Context) (names []string, known bool, err error) {
	got, err := stored(ctx, s.in, "read targets", "", func() (got targets, err error) {
		got.names, got.known, err = s.in.world.marks.Targets(ctx0)
		return got, err
	})
	return got.names, got.known, err
}

// PauseTarget is slot.PausedStore's.
func (s *marked) PauseTarget(ctx context.Context, name string, paused bool) error {
	_, err := stored(ctx, s.in, "pause target", name, func() (struct{}, error) {
		return struct{}{}, s.in.world.marks.PauseTarget(ctx0, name, paused)
	})
	return err
}
