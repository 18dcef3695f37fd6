package lane

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/slot"
)

// Marks keep what must outlive Redis of lanes beside their requests. A nil *Marks, and one without a store, keep nothing. They
// are safe for concurrent use.
type Marks struct {
	store marks.Store
	slots Horizons
	wait  singleflight.Group
}

// Horizons is the script that tells a lane what has been kept.
type Horizons interface {
	Extend(ctx context.Context, l slot.Lane, horizon int64) error
}

// NewMarks returns Marks in store; nil: there are none.
func NewMarks(store marks.Store, slots Horizons) *Marks { return &Marks{store: store, slots: slots} }

func (m *Marks) kept() bool { return m != nil && m.store != nil }

// Restore reads what was kept of a lane, for scripts that begin a life of it or repair it. The error is the store's.
func (m *Marks) Restore(ctx context.Context, key string) (slot.Marks, error) {
	if !m.kept() {
		return slot.Marks{}, nil
	}
	held, err := m.store.Read(ctx, key)
	out := slot.Marks{Paused: held.Paused, Purged: held.Purged, Parked: held.Parked}
	if !held.Horizon.IsZero() {
		out.Reach = held.Horizon.UnixMilli()
	}
	return out, err
}

// change alters the marks of a lane. The error is the store's: nobody is told before that what was changed lasts.
func (m *Marks) change(ctx context.Context, key string, change func(*marks.Marks)) error {
	if !m.kept() {
		return nil
	}
	_, err := m.store.Change(ctx, key, change)
	return err
}

// Pause keeps that the lane is held, or goes on.
func (m *Marks) Pause(ctx context.Context, key string, hold bool) error {
	return m.change(ctx, key, func(held *marks.Marks) { held.Paused = hold })
}

// Purge keeps that all below a ticket was purged.
func (m *Marks) Purge(ctx context.Context, key string, below int64) error {
	return m.change(ctx, key, func(held *marks.Marks) { held.Purge(below) })
}

// Park keeps that the lane stands on a ticket.
func (m *Marks) Park(ctx context.Context, key string, ticket int64) error {
	return m.change(ctx, key, func(held *marks.Marks) { held.Park(ticket) })
}

// Unpark keeps that the lane stands on a ticket no longer.
func (m *Marks) Unpark(ctx context.Context, key string, ticket int64) error {
	return m.change(ctx, key, func(held *marks.Marks) { held.Unpark(ticket) })
}

// await keeps that a task of the lane comes as late as at, so that after a loss of Redis what is new waits for it: only where
// that is later than any lease, since a loss is followed by a quarantine of as long, and in blocks that grow by half of the backlog,
// so that one of n costs O(log n) writes. What only waits for a loss of before is no backlog: else one loss after the other would
// hold a lane for ever longer. Where it fails the request is as safe as ever, but for its place after a loss.
func (m *Marks) await(ctx context.Context, l Lane, v View, at int64) {
	in := at - v.Now
	if !m.kept() || in <= l.Slot.Lease.Milliseconds() || at <= v.Horizon {
		return
	}
	until := at + (at-min(max(v.Now, v.Reach), at))/2
	for reached := int64(0); reached < at; { // who comes meanwhile shares the write, which may not reach as far
		got, err, _ := m.wait.Do(l.Slot.Key, func() (any, error) {
			held, err := m.store.Change(ctx, l.Slot.Key, func(held *marks.Marks) { held.Await(time.UnixMilli(until)) })
			if err != nil {
				return int64(0), err
			}
			return held.Horizon.UnixMilli(), m.slots.Extend(ctx, l.Slot, held.Horizon.UnixMilli())
		})
		if err != nil {
			logging.FromContext(ctx).WarnContext(ctx, "horizon of the lane not kept", logging.Lane, l.Slot.Key, logging.Error, err.Error())
			return
		}
		reached = got.(int64)
	}
}
