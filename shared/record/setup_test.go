package record_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	. "github.com/seriatim/seriatim/shared/record"
)

func TestMain(m *testing.M) { firestoretest.Main(m) }

// store is what callers want of either implementation.
type store interface {
	Put(context.Context, Record) (Record, error)
	Get(ctx context.Context, key, id string) (Record, bool, error)
	Delete(ctx context.Context, key, id string, ticket int64) error
	List(ctx context.Context, key string, status Status, size int, token string) (Page, error)
	DeadLetters(ctx context.Context, key string, size int, token string) (Page, error)
}

// eachStore runs fn on an empty store of every kind, in parallel subtests.
func eachStore(t *testing.T, fn func(t *testing.T, s store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		fn(t, NewMemory(time.Now))
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		fn(t, onFirestore(t, firestoretest.Shared(t).Config()))
	})
}

// onFirestore is a store whose calls have all the time that a loaded machine
// may need.
func onFirestore(t *testing.T, config firestoreconn.Config, dial ...grpc.DialOption) *Firestore {
	t.Helper()
	conn := firestoreconn.New(config, dial...)
	t.Cleanup(func() { _ = conn.Close() })
	return NewFirestore(conn, Options{Timeout: time.Minute})
}

const lane = "tenant-42:product-7"

var (
	now  = time.Date(2026, 12, 1, 10, 0, 0, 123_000_000, time.UTC)
	ever = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// dead is a record with every field set; it finished as many seconds after now
// as its ticket says.
func dead(id string, ticket int64) Record {
	return Record{
		Key: lane, ID: id, Fingerprint: "print", Ticket: ticket, Fence: ticket + 7, Status: Dead, Attempts: 20,
		Reason: "attempts", Detail: "503 of the target", Target: "billing",
		Submitted: now.Add(-time.Hour), Started: now, Finished: now.Add(time.Duration(ticket) * time.Second),
		Response: []byte("{\"status\":503}\n\x00\xff"),
		Payload: &Payload{
			Header: http.Header{"Content-Type": {"text/plain"}, "X-Many": {"a", "b"}}, IdempotencyKey: "order-17", Traceparent: "00-1-2-01",
			Body: []byte("any \x00\xff bytes"),
		},
		ExpireAt: ever,
	}
}

func done(id string, ticket int64) Record {
	r := dead(id, ticket)
	r.Status, r.Reason, r.Detail, r.Payload = Done, "", "", nil
	return r
}

func put(t *testing.T, s store, r Record) Record {
	t.Helper()
	held, err := s.Put(t.Context(), r)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return held
}

func wantHeld(t *testing.T, what string, got, want Record) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantStored fails unless Get answers want.
func wantStored(t *testing.T, s store, want Record) {
	t.Helper()
	got, found, err := s.Get(t.Context(), want.Key, want.ID)
	if err != nil || !found {
		t.Fatalf("Get: found %v, %v", found, err)
	}
	wantHeld(t, "record", got, want)
}

func wantNone(t *testing.T, s store, key, id string) {
	t.Helper()
	if got, found, err := s.Get(t.Context(), key, id); err != nil || found {
		t.Errorf("Get: %+v, found %v, %v; want none", got, found, err)
	}
}

// pages collects the ids of all pages.
func pages(t *testing.T, page func(token string) (Page, error)) (ids [][]string) {
	t.Helper()
	for token := ""; ; {
		p, err := page(token)
		if err != nil {
			t.Fatalf("page: %v", err)
		}
		one := []string{}
		for _, r := range p.Records {
			one = append(one, r.ID)
			if r.Response != nil || r.Payload != nil {
				t.Errorf("record %s of a list has response or payload", r.ID)
			}
		}
		ids = append(ids, one)
		if token = p.Next; token == "" {
			return ids
		}
	}
}
