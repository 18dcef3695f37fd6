package generation_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	. "github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func firestore(t *testing.T, config firestoreconn.Config, dial ...grpc.DialOption) *Firestore {
	t.Helper()
	conn := firestoreconn.New(config, dial...)
	t.Cleanup(func() { _ = conn.Close() })
	return NewFirestore(conn)
}

func asks(t *testing.T, f *Firestore) bool {
	t.Helper()
	first, err := f.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func TestFirestore(t *testing.T) {
	t.Parallel()
	t.Run("one process is the first, however often it asks", func(t *testing.T) {
		t.Parallel()
		config := firestoretest.Shared(t).Config()
		var firsts atomic.Int64
		var all sync.WaitGroup
		for range 5 {
			f := firestore(t, config)
			all.Go(func() {
				a, errA := f.First(t.Context())
				b, errB := f.First(t.Context())
				if errA != nil || errB != nil || a != b {
					t.Errorf("%t, %v, then %t, %v", a, errA, b, errB)
				}
				if a {
					firsts.Add(1)
				}
			})
		}
		all.Wait()
		if firsts.Load() != 1 {
			t.Errorf("%d processes are the first", firsts.Load())
		}
	})
	t.Run("a lost reply does not make the first process the second", func(t *testing.T) {
		t.Parallel()
		var armed atomic.Bool
		armed.Store(true)
		losing := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := invoke(ctx, method, req, reply, cc, opts...)
			if err == nil && strings.HasSuffix(method, "/Commit") && armed.CompareAndSwap(true, false) {
				return status.Error(codes.Unavailable, "the reply was lost")
			}
			return err
		}
		if f := firestore(t, firestoretest.Shared(t).Config(), grpc.WithUnaryInterceptor(losing)); !asks(t, f) || armed.Load() {
			t.Error("not the first, or no reply was lost")
		}
	})
	t.Run("out of reach is an error", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		f := firestore(t, firestoreconn.Config{Project: "my-project", Emulator: "127.0.0.1:1"})
		if first, err := f.First(ctx); first || !firestoreconn.IsUnavailable(err) {
			t.Errorf("%t, %v; want an unavailable Firestore", first, err)
		}
	})
}

func TestADeploymentOnFirestore(t *testing.T) {
	t.Parallel()
	config := firestoretest.Shared(t).Config()
	s := redistest.Start(t)

	// Both functions start at once.
	ingest, executor := start(t, s.Addr(), firestore(t, config).First), start(t, s.Addr(), firestore(t, config).First)
	var both sync.WaitGroup
	for _, p := range []*process{ingest, executor} {
		both.Go(func() { _ = p.rdb.Ping(p.ctx()).Err() })
	}
	both.Wait()
	before := ingest.now()
	settled(t, before)
	same(t, before, executor.now())

	// All instances are gone when Redis is emptied.
	ok(t, ingest.rdb.Close(), executor.rdb.Close())
	s.Restart()
	after := start(t, s.Addr(), firestore(t, config).First).connect()
	lost(t, before, after)

	// And once more, while Firestore is away.
	s.Restart()
	nowhere := firestoreconn.Config{Project: config.Project, Emulator: "127.0.0.1:1"}
	lost(t, slot.Generation{Number: after.Number}, start(t, s.Addr(), firestore(t, nowhere).First).connect())
}
