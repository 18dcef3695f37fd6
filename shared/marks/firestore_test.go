package marks_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	. "github.com/seriatim/seriatim/shared/marks"
)

// spy counts the writes that took effect, and loses the reply of the next one whenever armed is set: the client library then
// sends it again.
type spy struct {
	writes atomic.Int64
	armed  atomic.Bool
}

func (s *spy) option() grpc.DialOption {
	return grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err != nil || !strings.HasSuffix(method, "/Commit") {
			return err
		}
		s.writes.Add(1)
		if s.armed.CompareAndSwap(true, false) {
			return status.Error(codes.Unavailable, "the reply was lost")
		}
		return nil
	})
}

func TestFirestore_writes(t *testing.T) {
	t.Parallel()
	seen := &spy{}
	s := onFirestore(t, firestoretest.Shared(t).Config(), time.Now, seen.option())
	pause := func(paused bool) func() {
		return func() {
			if err := s.PauseTarget(t.Context(), "shop", paused); err != nil {
				t.Error(err)
			}
		}
	}
	for _, step := range []struct {
		name   string
		do     func()
		writes int64
	}{
		{"nothing to nothing", func() { change(t, s, lane, func(*Marks) {}) }, 0},
		{"created", func() { change(t, s, lane, func(m *Marks) { *m = all() }) }, 1},
		{"read", func() { wantMarks(t, s, lane, all()) }, 0},
		{"the same", func() { change(t, s, lane, func(m *Marks) { m.Park(4); m.Purge(1); m.Await(noon) }) }, 0},
		{"changed", func() { change(t, s, lane, func(m *Marks) { m.Paused = false }) }, 1},
		{"paused", pause(true), 1},
		{"paused again", pause(true), 0},
		{"resumed", pause(false), 1},
	} {
		before := seen.writes.Load()
		step.do()
		if n := seen.writes.Load() - before; n != step.writes {
			t.Errorf("%s: %d writes, want %d", step.name, n, step.writes)
		}
	}
}

func TestFirestore_lostReplies(t *testing.T) {
	t.Parallel()
	seen := &spy{}
	s := onFirestore(t, firestoretest.Shared(t).Config(), time.Now, seen.option())
	for i, step := range []func(){
		func() { change(t, s, lane, func(m *Marks) { m.Park(4); m.Park(7) }) },
		func() {
			change(t, s, lane, func(m *Marks) { m.Paused = true; m.Purge(9); m.Await(noon.Add(time.Hour)) })
		},
	} {
		seen.armed.Store(true)
		step()
		if seen.armed.Load() {
			t.Errorf("step %d lost no reply", i)
		}
	}
	wantMarks(t, s, lane, all())
}

func TestFirestore_contended(t *testing.T) {
	t.Parallel()
	s := onFirestore(t, firestoretest.Shared(t).Config(), time.Now, grpc.WithUnaryInterceptor(
		func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
			return status.Error(codes.Aborted, "too much contention on these documents")
		}))
	tries := 0
	_, err := s.Change(t.Context(), lane, func(m *Marks) { tries++; m.Paused = true })
	if !errors.Is(err, ErrUnavailable) || tries != firestoreconn.Swaps {
		t.Errorf("%v after %d tries, want ErrUnavailable after %d", err, tries, firestoreconn.Swaps)
	}
}

func TestFirestore_away(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t)
	conn := firestoreconn.New(server.Config())
	t.Cleanup(func() { _ = conn.Close() })
	brief := NewFirestore(conn, Options{Timeout: 200 * time.Millisecond})
	s := NewFirestore(conn, Options{Timeout: time.Minute})
	change(t, s, lane, func(m *Marks) { m.Purge(9) })

	server.Pause()
	_, readErr := brief.Read(t.Context(), lane)
	_, changeErr := brief.Change(t.Context(), lane, func(m *Marks) { m.Paused = true })
	_, _, targetsErr := brief.Targets(t.Context())
	for call, err := range map[string]error{
		"Read": readErr, "Change": changeErr, "Targets": targetsErr, "PauseTarget": brief.PauseTarget(t.Context(), "shop", true),
	} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", call, err)
		}
	}
	server.Resume()
	wantMarks(t, s, lane, Marks{Purged: 9})
}

func TestFirestore_callerLeaves(t *testing.T) {
	t.Parallel()
	s := onFirestore(t, firestoretest.Shared(t).Config(), time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, lane); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("Read: %v, want an error that says nothing about Firestore", err)
	}
}
