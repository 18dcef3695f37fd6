package record_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	. "github.com/seriatim/seriatim/shared/record"
)

// losing loses the reply of the next commit whenever armed is set, after it
// took effect; the client library then sends it again.
func losing(armed *atomic.Bool) grpc.DialOption {
	return grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err == nil && strings.HasSuffix(method, "/Commit") && armed.CompareAndSwap(true, false) {
			return status.Error(codes.Unavailable, "the reply was lost")
		}
		return err
	})
}

func TestFirestore_lostReplies(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	s := onFirestore(t, firestoretest.Shared(t).Config(), losing(&armed))
	for i, step := range []func(){
		func() { wantHeld(t, "created", put(t, s, dead("a", 1)), dead("a", 1)) },
		func() { wantHeld(t, "replaced", put(t, s, done("a", 2)), done("a", 2)) },
		func() {
			if err := s.Delete(t.Context(), lane, "a", 2); err != nil {
				t.Error(err)
			}
		},
	} {
		armed.Store(true)
		step()
		if armed.Load() {
			t.Errorf("step %d lost no reply", i)
		}
	}
	wantNone(t, s, lane, "a")
}

func TestFirestore_contended(t *testing.T) {
	t.Parallel()
	var commits atomic.Int64
	s := onFirestore(t, firestoretest.Shared(t).Config(), grpc.WithUnaryInterceptor(
		func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
			commits.Add(1)
			return status.Error(codes.Aborted, "too much contention on these documents")
		}))
	if _, err := s.Put(t.Context(), done("a", 1)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Put: %v, want ErrUnavailable", err)
	}
	if n := commits.Load(); n != firestoreconn.Swaps {
		t.Errorf("%d commits, want the bound of %d", n, firestoreconn.Swaps)
	}
}

func TestFirestore_away(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t)
	config := server.Config()
	s := onFirestore(t, config)
	conn := firestoreconn.New(config)
	t.Cleanup(func() { _ = conn.Close() })
	brief := NewFirestore(conn, Options{Timeout: 200 * time.Millisecond})
	wantAway := func() {
		t.Helper()
		ctx := t.Context()
		_, putErr := brief.Put(ctx, done("a", 2))
		_, _, getErr := brief.Get(ctx, lane, "a")
		_, listErr := brief.List(ctx, lane, "", 10, "")
		_, lettersErr := brief.DeadLetters(ctx, lane, 10, "")
		for call, err := range map[string]error{
			"Put": putErr, "Get": getErr, "List": listErr, "DeadLetters": lettersErr, "Delete": brief.Delete(ctx, lane, "a", 2),
		} {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", call, err)
			}
		}
	}
	put(t, s, dead("a", 1))

	// It hangs: nothing is answered in time. Then it goes on, with all it had,
	// and what it was sent meanwhile may have come to pass.
	server.Pause()
	wantAway()
	server.Resume()
	held := put(t, s, done("a", 2))
	wantHeld(t, "held after the hang", held, done("a", 2))

	// It is gone, then back and empty; the same client finds it.
	server.Stop()
	wantAway()
	server.Restart()
	wantNone(t, s, lane, "a")
	put(t, s, done("a", 3))
	wantStored(t, s, done("a", 3))
}

func TestFirestore_callerLeaves(t *testing.T) {
	t.Parallel()
	s := onFirestore(t, firestoretest.Shared(t).Config())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, done("a", 1)); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("Put: %v, want an error that says nothing about Firestore", err)
	}
}

// The emulator serves any query; Firestore wants an index for each.
func TestFirestore_indexes(t *testing.T) {
	t.Parallel()
	queries := make(chan *firestorepb.StructuredQuery, 10)
	s := onFirestore(t, firestoretest.Shared(t).Config(), grpc.WithStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := streamer(ctx, desc, cc, method, opts...)
			return &spy{stream, queries}, err
		}))
	ctx := t.Context()
	for _, list := range []func() (Page, error){
		func() (Page, error) { return s.List(ctx, lane, "", 10, "") },
		func() (Page, error) { return s.List(ctx, lane, Done, 10, "") },
		func() (Page, error) { return s.DeadLetters(ctx, lane, 10, "") },
	} {
		if _, err := list(); err != nil {
			t.Fatal(err)
		}
	}
	close(queries)
	var got []firestoreconn.Index
	for q := range queries {
		got = append(got, indexOf(q))
	}
	if diff := cmp.Diff(got, Collection.Indexes); diff != "" {
		t.Errorf("declared indexes (-needed +declared):\n%s", diff)
	}
}

// spy reads the queries that are sent.
type spy struct {
	grpc.ClientStream
	queries chan<- *firestorepb.StructuredQuery
}

func (s *spy) SendMsg(m any) error {
	if q, ok := m.(*firestorepb.RunQueryRequest); ok {
		s.queries <- q.GetStructuredQuery()
	}
	return s.ClientStream.SendMsg(m)
}

// indexOf is the index that serves q: what it compares, then what it orders by,
// without the document's name, whose direction must be that before it.
func indexOf(q *firestorepb.StructuredQuery) (index firestoreconn.Index) {
	where := q.GetWhere()
	filters := where.GetCompositeFilter().GetFilters()
	if filters == nil {
		filters = []*firestorepb.StructuredQuery_Filter{where}
	}
	for _, f := range filters {
		index = append(index, firestoreconn.Field{Path: f.GetFieldFilter().GetField().GetFieldPath()})
	}
	for _, o := range q.GetOrderBy() {
		field := firestoreconn.Field{Path: o.GetField().GetFieldPath(), Descending: o.GetDirection() == firestorepb.StructuredQuery_DESCENDING}
		if field.Path == "__name__" && field.Descending == index[len(index)-1].Descending {
			continue
		}
		index = append(index, field)
	}
	return index
}
