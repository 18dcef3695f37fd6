package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	. "github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
)

// losing loses the reply of the next commit whenever armed is set, after it
// took effect; the client library then sends it again. It counts commits.
func losing(armed *atomic.Bool, commits *atomic.Int64) grpc.DialOption {
	return grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		commits.Add(1)
		if err == nil && strings.HasSuffix(method, "/Commit") && armed.CompareAndSwap(true, false) {
			return status.Error(codes.Unavailable, "the reply was lost")
		}
		return err
	})
}

// brief is a guard with little time for each call.
func brief(t *testing.T, config firestoreconn.Config, dial ...grpc.DialOption) *Firestore {
	t.Helper()
	conn := firestoreconn.New(config, dial...)
	t.Cleanup(func() { _ = conn.Close() })
	return NewFirestore(conn, FirestoreOptions{Timeout: 200 * time.Millisecond})
}

func TestFirestore_lostReplies(t *testing.T) {
	t.Parallel()
	var (
		armed   atomic.Bool
		commits atomic.Int64
	)
	g := onFirestore(t, firestoretest.Shared(t).Config(), losing(&armed, &commits))
	lose := func(step func()) {
		t.Helper()
		armed.Store(true)
		step()
		if armed.Swap(false) {
			t.Error("no reply was lost")
		}
	}
	var token Token
	lose(func() { token = acquire(t, g, hour) })
	lose(func() {
		if err := g.Release(t.Context(), token); err != nil {
			t.Errorf("Release: %v", err)
		}
	})
	acquire(t, g, time.Millisecond)
	<-time.After(5 * time.Millisecond)
	lose(func() { token = acquire(t, g, hour) }) // a take-over
	before := commits.Load()
	lose(func() { accept(t, g, token, "result") })
	if n := commits.Load() - before; n != 2 {
		t.Errorf("%d commits to accept, want the one that was lost and its repetition", n)
	}
	wantResult(t, g, "result")
}

// A caller that never learns that it has the key leaves it to the lease.
func TestFirestore_noReply(t *testing.T) {
	t.Parallel()
	config := firestoretest.Shared(t).Config()
	var commits atomic.Int64
	mute := brief(t, config, grpc.WithUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if commits.Add(1) == 1 { // it arrives, with all the time it needs
				_ = invoke(context.WithoutCancel(ctx), method, req, reply, cc, opts...)
			}
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}))
	if _, err := mute.TryLock(t.Context(), order, "print", hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	}
	want(t, lock(t, onFirestore(t, config), "print", hour), Running)
}

func TestFirestore_contended(t *testing.T) {
	t.Parallel()
	var commits atomic.Int64
	g := onFirestore(t, firestoretest.Shared(t).Config(), grpc.WithUnaryInterceptor(
		func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
			commits.Add(1)
			return status.Error(codes.Aborted, "too much contention on these documents")
		}))
	if _, err := g.TryLock(t.Context(), order, "print", hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	}
	if n := commits.Load(); n != firestoreconn.Swaps {
		t.Errorf("%d commits, want the bound of %d", n, firestoreconn.Swaps)
	}
}

func TestFirestore_away(t *testing.T) {
	t.Parallel()
	config := firestoretest.Shared(t).Config()
	nowhere := config
	nowhere.Emulator = "127.0.0.1:1"
	g, lost := onFirestore(t, config), brief(t, nowhere)
	token := acquire(t, g, hour)
	_, err := lost.TryLock(t.Context(), order, "print", hour)
	for verb, err := range map[string]error{
		"TryLock": err, "Accept": lost.Accept(t.Context(), token, nil, hour), "Release": lost.Release(t.Context(), token),
	} {
		if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), order.Key) {
			t.Errorf("%s: %v, want ErrUnavailable without the key", verb, err)
		}
	}
	want(t, lock(t, g, "print", hour), Running)
}

// An emptied Firestore: the key is free, and who was running may still settle.
func TestFirestore_emptied(t *testing.T) {
	t.Parallel()
	config := firestoretest.Shared(t).Config()
	g := onFirestore(t, config)
	token := acquire(t, g, hour)
	for _, document := range stored(t, config) {
		if _, err := document.Ref.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Release(t.Context(), token); err != nil {
		t.Errorf("Release: %v", err)
	}
	accept(t, g, token, "result")
	wantResult(t, g, "result")
}

// stored are all documents of the guards on config.
func stored(t *testing.T, config firestoreconn.Config) []*firestore.DocumentSnapshot {
	t.Helper()
	conn := firestoreconn.New(config)
	t.Cleanup(func() { _ = conn.Close() })
	client, err := conn.Client()
	if err != nil {
		t.Fatal(err)
	}
	documents, err := client.Collection(Collection.Name).Documents(t.Context()).GetAll()
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v; want 1", len(documents), err)
	}
	return documents
}

// What is stored: a hashed name, and the field by which Firestore deletes.
func TestFirestore_document(t *testing.T) {
	t.Parallel()
	config := firestoretest.Shared(t).Config()
	began := time.Now()
	acquire(t, onFirestore(t, config), hour)
	documents := stored(t, config)
	if name := documents[0].Ref.ID; len(name) != 52 || strings.Contains(name, "order") {
		t.Errorf("document %q, want a hash", name)
	}
	expires, _ := documents[0].Data()[Collection.TTL].(time.Time)
	if expires.Before(began.Add(hour)) || expires.After(time.Now().Add(3*hour)) {
		t.Errorf("deleted from %v on, want some time after the lease", expires)
	}
	if fields := len(documents[0].Data()); fields != len(Collection.Unindexed) {
		t.Errorf("%d fields, %d of them without index; want all", fields, len(Collection.Unindexed))
	}
}
