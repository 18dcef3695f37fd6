package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/seriatim/seriatim/shared/idempotency"
)

var call = Call{Key: order, Fingerprint: "print", Lease: time.Minute, Retention: hour}

// untilDone is a client that comes again while another's call is running. Its
// handler sends "run n" to runs, and answers so.
func untilDone(g Guard, runs chan string) string {
	for {
		outcome, err := Do(background, g, call, func(context.Context) ([]byte, error) {
			run := fmt.Sprintf("run %d", len(runs)+1)
			runs <- run
			return []byte(run), nil
		})
		switch {
		case err == nil:
			return string(outcome.Result)
		case !errors.Is(err, ErrRunning):
			return fmt.Sprint("error: ", err)
		case outcome.RetryAfter <= 0 || outcome.RetryAfter > call.Lease:
			return fmt.Sprint("retry after ", outcome.RetryAfter)
		}
	}
}

// doubtful is a guard whose Accept and Release can be made to fail.
type doubtful struct {
	Guard
	accept, release func() error
	accepts         int
}

func (d *doubtful) Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error {
	d.accepts++
	if d.accept != nil {
		if err := d.accept(); err != nil {
			return err
		}
	}
	return d.Guard.Accept(ctx, token, result, retention)
}

func (d *doubtful) Release(ctx context.Context, token Token) error {
	if d.release != nil {
		return d.release()
	}
	return d.Guard.Release(ctx, token)
}

// doing runs fn in virtual time.
func doing(t *testing.T, name string, fn func(t *testing.T, g *doubtful)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			defer m.Close()
			fn(t, &doubtful{Guard: m})
		})
	})
}

func returns(result string, err error) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(result), err }
}

// wantDo calls Do with a handler that answers "again".
func wantDo(t *testing.T, g Guard, result string, replayed bool) {
	t.Helper()
	outcome, err := Do(t.Context(), g, call, returns("again", nil))
	if err != nil || string(outcome.Result) != result || outcome.Replayed != replayed {
		t.Errorf("Do: %q, replayed %v, %v; want %q, %v", outcome.Result, outcome.Replayed, err, result, replayed)
	}
}

func wantRunning(t *testing.T, g Guard) {
	t.Helper()
	if _, err := Do(t.Context(), g, call, returns("again", nil)); !errors.Is(err, ErrRunning) {
		t.Errorf("Do: %v, want ErrRunning", err)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")

	doing(t, "a result is replayed, and refused to another request", func(t *testing.T, g *doubtful) {
		outcome, err := Do(t.Context(), g, call, returns("first", nil))
		if err != nil || string(outcome.Result) != "first" || outcome.Replayed {
			t.Fatalf("Do: %+v, %v", outcome, err)
		}
		wantDo(t, g, "first", true)
		other := call
		other.Fingerprint = "other print"
		if _, err := Do(t.Context(), g, other, returns("other", nil)); !errors.Is(err, ErrMismatch) {
			t.Errorf("another request: %v, want ErrMismatch", err)
		}
	})
	doing(t, "an error that may hide an effect keeps the key to the end of the lease", func(t *testing.T, g *doubtful) {
		if _, err := Do(t.Context(), g, call, returns("", broken)); !errors.Is(err, broken) {
			t.Errorf("Do: %v, want the handler's error", err)
		}
		time.Sleep(call.Lease - time.Millisecond) // virtual
		wantRunning(t, g)
		time.Sleep(time.Millisecond)
		wantDo(t, g, "again", false)
	})
	doing(t, "an error without effect frees the key at once", func(t *testing.T, g *doubtful) {
		if _, err := Do(t.Context(), g, call, returns("", fmt.Errorf("charge: %w", NoEffect(broken)))); !errors.Is(err, broken) {
			t.Errorf("Do: %v, want the handler's error", err)
		}
		wantDo(t, g, "again", false)
	})
	doing(t, "a key that could not be freed is free at the end of the lease", func(t *testing.T, g *doubtful) {
		g.release = func() error { return ErrUnavailable }
		if _, err := Do(t.Context(), g, call, returns("", NoEffect(broken))); !errors.Is(err, broken) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("Do: %v, want both errors", err)
		}
		wantRunning(t, g)
		time.Sleep(call.Lease)
		wantDo(t, g, "again", false)
	})
	doing(t, "a panic is no release", func(t *testing.T, g *doubtful) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Do swallowed the panic")
				}
			}()
			_, _ = Do(t.Context(), g, call, func(context.Context) ([]byte, error) { panic("half done") })
		}()
		wantRunning(t, g)
	})
	doing(t, "a store that is away for a moment still gets the result", func(t *testing.T, g *doubtful) {
		g.accept = func() error {
			if g.accepts < 4 {
				return fmt.Errorf("accept: %w", ErrUnavailable)
			}
			return nil
		}
		outcome, err := Do(t.Context(), g, call, returns("first", nil))
		if err != nil || string(outcome.Result) != "first" {
			t.Errorf("Do: %+v, %v", outcome, err)
		}
		wantDo(t, g, "first", true)
	})
	doing(t, "a result that cannot be stored is the caller's all the same, and the key not freed", func(t *testing.T, g *doubtful) {
		g.accept = func() error { return ErrUnavailable }
		outcome, err := Do(t.Context(), g, call, returns("first", nil))
		if string(outcome.Result) != "first" || !errors.Is(err, ErrUnrecorded) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("Do: %+v, %v; want the result and ErrUnrecorded", outcome, err)
		}
		wantRunning(t, g)
	})
	doing(t, "a result that came too late is told from the stored one", func(t *testing.T, g *doubtful) {
		outcome, err := Do(t.Context(), g, call, func(ctx context.Context) ([]byte, error) {
			<-ctx.Done() // and it goes on
			time.Sleep(time.Second)
			wantDo(t, g, "again", false)
			return []byte("late"), nil
		})
		if string(outcome.Result) != "late" || !errors.Is(err, ErrUnrecorded) || !errors.Is(err, ErrLost) {
			t.Errorf("Do: %+v, %v; want the result, ErrUnrecorded and ErrLost", outcome, err)
		}
		wantDo(t, g, "again", true)
	})
	doing(t, "a caller that leaves does not lose the result", func(t *testing.T, g *doubtful) {
		ctx, leave := context.WithCancel(t.Context())
		if _, err := Do(ctx, g, call, func(context.Context) ([]byte, error) { leave(); return []byte("first"), nil }); err != nil {
			t.Errorf("Do: %v", err)
		}
		wantDo(t, g, "first", true)
	})
	doing(t, "a handler's context ends with the lease", func(t *testing.T, g *doubtful) {
		began := time.Now()
		_, err := Do(t.Context(), g, call, func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != call.Lease {
			t.Errorf("Do ended after %v with %v; want the lease of %v", d, err, call.Lease)
		}
	})
	doing(t, "a handler without time left is not started, and the key is free", func(t *testing.T, g *doubtful) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := &leaving{g, cancel}
		_, err := Do(ctx, slow, call, func(context.Context) ([]byte, error) {
			t.Error("it was started")
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Do: %v", err)
		}
		wantDo(t, g, "again", false)
	})
	doing(t, "a call that could not be settled is refused before it has an effect", func(t *testing.T, g *doubtful) {
		unsettled := call
		unsettled.Retention = 0
		_, err := Do(t.Context(), g, unsettled, func(context.Context) ([]byte, error) {
			t.Error("it was started")
			return nil, nil
		})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("Do: %v, want ErrInvalid", err)
		}
		wantDo(t, g, "again", false)
	})
	if NoEffect(nil) != nil {
		t.Error("NoEffect(nil) is an error")
	}
}

// leaving is a guard whose caller leaves once it has the key.
type leaving struct {
	Guard
	leave func()
}

func (l *leaving) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error) {
	defer l.leave()
	return l.Guard.TryLock(ctx, key, fingerprint, lease)
}
