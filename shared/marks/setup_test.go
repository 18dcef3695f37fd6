package marks_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	. "github.com/seriatim/seriatim/shared/marks"
)

func TestMain(m *testing.M) { firestoretest.Main(m) }

// store is what callers want of either implementation.
type store interface {
	Store
	Targets(ctx context.Context) ([]string, bool, error)
	PauseTarget(ctx context.Context, name string, paused bool) error
}

// bundle is an empty store with its clock.
type bundle struct {
	store
	mu  sync.Mutex
	now time.Time
}

func (b *bundle) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bundle) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// eachStore runs fn on an empty store of every kind, in parallel subtests.
func eachStore(t *testing.T, fn func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		b := &bundle{now: noon}
		b.store = NewMemory(b.clock)
		fn(t, b)
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		b := &bundle{now: noon}
		b.store = onFirestore(t, firestoretest.Shared(t).Config(), b.clock)
		fn(t, b)
	})
}

// onFirestore is a store in a collection of its own, whose calls have all the time that a loaded machine may need.
func onFirestore(t *testing.T, config firestoreconn.Config, now func() time.Time, dial ...grpc.DialOption) *Firestore {
	t.Helper()
	conn := firestoreconn.New(config, dial...)
	t.Cleanup(func() { _ = conn.Close() })
	return NewFirestore(conn, Options{Collection: fmt.Sprintf("lanes-%d", collections.Add(1)), Timeout: time.Minute, Now: now})
}

// collections counts those of the shared emulator that are in use.
var collections atomic.Int64

const lane = "tenant-42:product-7"

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// all is what a lane's marks are at most.
func all() Marks {
	return Marks{Paused: true, Purged: 9, Parked: []int64{4, 7}, Horizon: noon.Add(time.Hour)}
}

func change(t *testing.T, s Store, key string, fn func(*Marks)) Marks {
	t.Helper()
	m, err := s.Change(t.Context(), key, fn)
	if err != nil {
		t.Fatalf("Change: %v", err)
	}
	return m
}

func wantMarks(t *testing.T, s Store, key string, want Marks) {
	t.Helper()
	got, err := s.Read(t.Context(), key)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("marks of %.20q: %v (-want +got):\n%s", key, err, diff)
	}
}

func wantTargets(t *testing.T, s store, known bool, want ...string) {
	t.Helper()
	got, ok, err := s.Targets(t.Context())
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); err != nil || ok != known || diff != "" {
		t.Errorf("targets: known %t, want %t, %v (-want +got):\n%s", ok, known, err, diff)
	}
}
