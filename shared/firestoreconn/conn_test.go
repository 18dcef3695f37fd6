package firestoreconn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// nowhere is a database that nobody serves: port 1 of this machine is closed.
var nowhere = firestoreconn.Config{Project: "my-project", Emulator: "127.0.0.1:1"}

func TestConn(t *testing.T) {
	t.Parallel()
	conn := firestoreconn.New(nowhere)
	if err := conn.Close(); err != nil {
		t.Errorf("Close of an unused Conn: %v", err)
	}
	client, err := conn.Client()
	if err != nil {
		t.Fatalf("Client without a server: %v; want one that will say so", err)
	}
	if again, err := conn.Client(); err != nil || again != client {
		t.Errorf("a second client %p, %v; want %p again", again, err, client)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := firestoreconn.Read(ctx, client.Doc("c/d")); !firestoreconn.IsUnavailable(err) {
		t.Errorf("Read without a server: %v, want an unavailable Firestore", err)
	}
	if err := conn.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if again, err := conn.Client(); err != nil || again == client {
		t.Errorf("client after Close: %p, %v; want a new one", again, err)
	}
	_ = conn.Close()
}

func TestConfigString(t *testing.T) {
	t.Parallel()
	if got := nowhere.String(); got != "projects/my-project/databases/(default)" {
		t.Errorf("String: %s", got)
	}
}

func TestIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{status.Error(codes.Unavailable, "no connection"), true},
		{fmt.Errorf("put: %w", status.Error(codes.DeadlineExceeded, "late")), true},
		{status.Error(codes.ResourceExhausted, "quota"), true},
		{status.Error(codes.Aborted, "contention"), true},
		{fmt.Errorf("put: %w", firestoreconn.ErrContended), true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{status.Error(codes.Canceled, "the caller left"), false},
		{status.Error(codes.FailedPrecondition, "the query requires an index"), false},
		{status.Error(codes.NotFound, "the database does not exist"), false},
		{status.Error(codes.PermissionDenied, "no"), false},
		{errors.New("another"), false},
	} {
		if got := firestoreconn.IsUnavailable(tt.err); got != tt.want {
			t.Errorf("IsUnavailable(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestSwap(t *testing.T) {
	t.Parallel()
	refusal := status.Error(codes.FailedPrecondition, "the document was changed")
	fault := status.Error(codes.InvalidArgument, "too large")
	for _, tt := range []struct {
		name  string
		errs  []error // of each try; the last one repeats
		tries int
		want  error
	}{
		{"done at once", []error{nil}, 1, nil},
		{"done after every kind of refusal", []error{
			refusal, status.Error(codes.AlreadyExists, ""), status.Error(codes.NotFound, ""), status.Error(codes.Aborted, ""), nil,
		}, 5, nil},
		{"a fault is not tried again", []error{refusal, fault}, 2, fault},
		{"refused for ever", []error{refusal}, firestoreconn.Swaps, firestoreconn.ErrContended},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := firestoreconn.Swap(t.Context(), func(try int) error {
					if try != tries {
						t.Errorf("try %d, want %d", try, tries)
					}
					tries++
					return tt.errs[min(try, len(tt.errs)-1)]
				})
				if !errors.Is(err, tt.want) || tries != tt.tries {
					t.Errorf("%d tries, %v; want %d, %v", tries, err, tt.tries, tt.want)
				}
			})
		})
	}
	t.Run("a caller that leaves is not kept", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := firestoreconn.Swap(ctx, func(int) error { return status.Error(codes.Aborted, "contention") })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Swap: %v, want the context's error", err)
		}
	})
}
