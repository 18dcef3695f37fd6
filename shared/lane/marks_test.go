package lane

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/slot"
)

// book counts the changes of a store, and the horizons that lanes were told.
type book struct {
	marks.Store
	mu      sync.Mutex
	changes int
	told    int64
	err     error
}

func (b *book) Change(ctx context.Context, key string, change func(*marks.Marks)) (marks.Marks, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return marks.Marks{}, b.err
	}
	b.changes++
	return b.Store.Change(ctx, key, change)
}

func (b *book) Extend(_ context.Context, _ slot.Lane, horizon int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = max(b.told, horizon)
	return nil
}

func (b *book) horizon() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

func TestAHorizonGrowsInBlocks(t *testing.T) {
	t.Parallel()
	b := &book{Store: marks.NewMemory(time.Now)}
	m := NewMarks(b, b)
	l := Lane{Slot: slot.Lane{Key: "k", Lease: 30 * time.Second}}
	now := time.Now().UnixMilli()
	see := func(at int64) { m.await(t.Context(), l, View{Seen: slot.Seen{Now: now, Horizon: b.horizon()}}, at) }

	see(now + 30_000)
	if b.changes != 0 {
		t.Errorf("%d writes for a task within a lease, want none: the quarantine covers it", b.changes)
	}
	const requests = 40_000 // a minute apart: 28 days
	for i := range int64(requests) {
		see(now + i*60_000)
		if i > 0 && b.horizon() < now+i*60_000 {
			t.Fatalf("a task after %d minutes, and the horizon is %d ms from now", i, b.horizon()-now)
		}
	}
	if b.changes > 30 {
		t.Errorf("%d writes for a backlog of %d, want O(log n)", b.changes, requests)
	}
	held, err := m.Restore(t.Context(), "k")
	if err != nil || held.Reach != b.horizon() {
		t.Errorf("kept %+v, %v; want a reach of %d", held, err, b.horizon())
	}
}

func TestWhatWaitsForALossIsNoBacklog(t *testing.T) {
	t.Parallel()
	b := &book{Store: marks.NewMemory(time.Now)}
	m := NewMarks(b, b)
	l := Lane{Slot: slot.Lane{Key: "k", Lease: 5 * time.Second}}
	now := time.Now().UnixMilli()
	reach := now + 60_000
	for loss := range 10 { // each empties Redis before the lane has started anything, and finds ten seconds of new work
		m.await(t.Context(), l, View{Seen: slot.Seen{Now: now, Horizon: reach, Reach: reach}}, reach+10_000)
		if reach += 15_000; b.horizon() != reach {
			t.Fatalf("loss %d: the horizon is %d ms after what the lane waited for, want the new work and half of it, 15000", loss, b.horizon()-reach+15_000)
		}
	}
	m.await(t.Context(), l, View{Seen: slot.Seen{Now: now, Reach: reach}}, reach-10_000) // adopted: it comes before what is new
	if b.horizon() != reach {
		t.Errorf("a task before what the lane waits for moved the horizon by %d ms", b.horizon()-reach)
	}
}

func TestWhoComesMeanwhileIsCoveredToo(t *testing.T) {
	t.Parallel()
	b := &book{Store: marks.NewMemory(time.Now)}
	m := NewMarks(b, b)
	l := Lane{Slot: slot.Lane{Key: "k", Lease: 5 * time.Second}}
	now := time.Now().UnixMilli()
	var all sync.WaitGroup
	for i := range int64(100) {
		all.Go(func() { m.await(t.Context(), l, View{Seen: slot.Seen{Now: now}}, now+6_000+i*60_000) })
	}
	all.Wait()
	if last := now + 6_000 + 99*60_000; b.horizon() < last {
		t.Errorf("horizon %d, the last task comes %d ms later", b.horizon(), last-b.horizon())
	}
}

func TestWithoutAStoreNothingIsKept(t *testing.T) {
	t.Parallel()
	l := Lane{Slot: slot.Lane{Key: "k", Lease: time.Second}}
	for _, m := range []*Marks{nil, NewMarks(nil, nil)} {
		m.await(t.Context(), l, View{}, time.Now().UnixMilli())
		if held, err := m.Restore(t.Context(), "k"); err != nil || held.Reach != 0 || m.Pause(t.Context(), "k", true) != nil {
			t.Errorf("%+v, %v", held, err)
		}
	}
	away := errors.New("store is away")
	b := &book{Store: marks.NewMemory(time.Now), err: away}
	m := NewMarks(b, b)
	m.await(t.Context(), l, View{}, time.Now().UnixMilli()) // the request is as safe as ever
	if err := m.Park(t.Context(), "k", 7); !errors.Is(err, away) {
		t.Errorf("park: %v, want the store's error", err)
	}
}
