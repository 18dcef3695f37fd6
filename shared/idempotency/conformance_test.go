package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/idempotency"
)

func TestGuard_whileItRuns(t *testing.T) {
	t.Parallel()
	eachGuard(t, func(t *testing.T, s bundle) {
		token := acquire(t, s.a, hour)
		for _, g := range s.guards() {
			answer := lock(t, g, "print", hour)
			want(t, answer, Running)
			if answer.RetryAfter <= 0 || answer.RetryAfter > hour {
				t.Errorf("retry after %v, want up to the lease of 1h", answer.RetryAfter)
			}
			// Another request under the same key is refused whatever the state.
			want(t, lock(t, g, "other print", hour), Mismatch)
		}
		// An effect that did not happen frees the key, for any request.
		for range 2 { // a repeated release does no harm
			if err := s.a.Release(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		want(t, lock(t, s.b, "other print", hour), Acquired)
		wantLost(t, "release of another's key", s.a.Release(t.Context(), token))
		want(t, lock(t, s.a, "other print", hour), Running)
	})
}

func TestGuard_replays(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"nothing": "", "any bytes": "\x00\xff{}\r\n", "the largest result": strings.Repeat("r", MaxResult),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachGuard(t, func(t *testing.T, s bundle) {
				token := acquire(t, s.a, hour)
				accept(t, s.a, token, result)
				// Again, as after a lost answer: it ends no sooner, nor later.
				if err := s.a.Accept(t.Context(), token, []byte(result), time.Millisecond); err != nil {
					t.Fatal(err)
				}
				<-time.After(5 * time.Millisecond)
				for _, g := range s.guards() {
					wantResult(t, g, result)
					want(t, lock(t, g, "other print", hour), Mismatch)
				}
				wantLost(t, "release of an accepted key", s.a.Release(t.Context(), token))
				wantResult(t, s.b, result)
			})
		})
	}
}

func TestGuard_afterTheLease(t *testing.T) {
	t.Parallel()

	t.Run("a successor's key cannot be accepted or released by its predecessor", func(t *testing.T) {
		t.Parallel()
		eachGuard(t, func(t *testing.T, s bundle) {
			old := acquire(t, s.a, time.Millisecond)
			heir := reacquire(t, s.b)
			wantLost(t, "release", s.a.Release(t.Context(), old))
			wantLost(t, "accept", s.a.Accept(t.Context(), old, []byte("old"), hour))
			want(t, lock(t, s.a, "print", hour), Running)
			accept(t, s.b, heir, "heir's")
			wantLost(t, "late accept", s.a.Accept(t.Context(), old, []byte("old"), hour))
			wantLost(t, "late release", s.a.Release(t.Context(), old))
			wantResult(t, s.a, "heir's")
		})
	})
	t.Run("a late result that nobody overtook counts", func(t *testing.T) {
		t.Parallel()
		eachGuard(t, func(t *testing.T, s bundle) {
			old := acquire(t, s.a, time.Millisecond)
			<-time.After(5 * time.Millisecond)
			accept(t, s.a, old, "late")
			wantResult(t, s.b, "late")
		})
	})
	t.Run("a late result counts also after another came and gave up", func(t *testing.T) {
		t.Parallel()
		eachGuard(t, func(t *testing.T, s bundle) {
			old := acquire(t, s.a, time.Millisecond)
			heir := reacquire(t, s.b)
			if err := s.b.Release(t.Context(), heir); err != nil {
				t.Fatal(err)
			}
			accept(t, s.a, old, "late")
			wantResult(t, s.b, "late")
		})
	})
	t.Run("of many who find a lapsed key one takes it", func(t *testing.T) {
		t.Parallel()
		eachGuard(t, func(t *testing.T, s bundle) {
			acquire(t, s.a, time.Millisecond)
			<-time.After(5 * time.Millisecond)
			got := together(50, func(i int) string {
				return stateOf(s.guards()[i%2].TryLock(background, order, "print", hour))
			})
			if diff := cmp.Diff(map[string]int{"acquired": 1, "running": 49}, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	})
}

func TestGuard_afterTheRetention(t *testing.T) {
	t.Parallel()
	eachGuard(t, func(t *testing.T, s bundle) {
		if err := s.a.Accept(t.Context(), acquire(t, s.a, hour), []byte("short-lived"), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		accept(t, s.b, reacquire(t, s.b), "new")
		wantResult(t, s.a, "new")
	})
}

func TestGuard_manyAtOnce(t *testing.T) {
	t.Parallel()
	eachGuard(t, func(t *testing.T, s bundle) {
		got := together(50, func(i int) string {
			return stateOf(s.guards()[i%2].TryLock(background, order, "print", hour))
		})
		if diff := cmp.Diff(map[string]int{"acquired": 1, "running": 49}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestGuard_hostileKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", MaxScopedKey-1)
	keys := []ScopedKey{
		{"a", "bc"}, {"ab", "c"}, {"a", "b/c"}, {"a/b", "c"}, {"a", "."}, {"a", ".."}, {"a", "__id__"}, {"a", "}{"}, {"a", "{}"},
		{"a", "\x00"}, {"\x00", "a"}, {"a", "\xff\xfe"}, {"a", "A"}, {"a", "ä"}, {"a", "a\u0308"}, {"a", " "}, {"a", "  "},
		{"s", long}, {"t", long}, {"a", "%2F"}, {"a", "/"}, {"a", "\r\n"}, {"a", "`id`"}, {"a", "😀"},
	}
	eachGuard(t, func(t *testing.T, s bundle) {
		for _, key := range keys {
			answer, err := s.a.TryLock(t.Context(), key, "print\x00\xff", hour)
			if err != nil || answer.State != Acquired {
				t.Fatalf("TryLock of %q: %s, %v; want a key of its own", key, answer.State, err)
			}
			if err := s.a.Accept(t.Context(), answer.Token, []byte(key.Key), hour); err != nil {
				t.Fatalf("Accept of %q: %v", key, err)
			}
		}
		for _, key := range keys {
			answer, err := s.b.TryLock(t.Context(), key, "print\x00\xff", hour)
			if err != nil || answer.State != Done || string(answer.Result) != key.Key {
				t.Errorf("TryLock of %q: %s %q, %v", key, answer.State, answer.Result, err)
			}
		}
	})
}

func TestGuard_refuses(t *testing.T) {
	t.Parallel()
	eachGuard(t, func(t *testing.T, s bundle) {
		ctx := t.Context()
		for name, lock := range map[string]func() (Answer, error){
			"no key":   func() (Answer, error) { return s.a.TryLock(ctx, ScopedKey{Scope: "s"}, "print", hour) },
			"no scope": func() (Answer, error) { return s.a.TryLock(ctx, ScopedKey{Key: "k"}, "print", hour) },
			"a long key": func() (Answer, error) {
				return s.a.TryLock(ctx, ScopedKey{"s", strings.Repeat("k", MaxScopedKey)}, "print", hour)
			},
			"no fingerprint":        func() (Answer, error) { return s.a.TryLock(ctx, order, "", hour) },
			"a long fingerprint":    func() (Answer, error) { return s.a.TryLock(ctx, order, strings.Repeat("f", MaxScopedKey+1), hour) },
			"no lease":              func() (Answer, error) { return s.a.TryLock(ctx, order, "print", 0) },
			"a lease in the past":   func() (Answer, error) { return s.a.TryLock(ctx, order, "print", -time.Second) },
			"a lease of too little": func() (Answer, error) { return s.a.TryLock(ctx, order, "print", time.Microsecond) },
		} {
			if answer, err := lock(); !errors.Is(err, ErrInvalid) || answer.State != "" || strings.Contains(err.Error(), "order-1") {
				t.Errorf("%s: %+v, %v; want ErrInvalid", name, answer, err)
			}
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if answer, err := s.a.TryLock(cancelled, order, "print", hour); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("a caller that has gone: %+v, %v", answer, err)
		}

		// Nothing of it took the key, and nothing of this settles it.
		token := acquire(t, s.a, hour)
		for name, err := range map[string]error{
			"no token to accept":  s.a.Accept(ctx, Token{}, nil, hour),
			"no token to release": s.a.Release(ctx, Token{}),
			"no retention":        s.a.Accept(ctx, token, nil, 0),
			"a result too large":  s.a.Accept(ctx, token, make([]byte, MaxResult+1), hour),
		} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", name, err)
			}
		}
		want(t, lock(t, s.b, "print", hour), Running)
	})
}

// Everyone gets the bytes of the one run, whichever instance they ask.
func TestDo_manyCallers(t *testing.T) {
	t.Parallel()
	eachGuard(t, func(t *testing.T, s bundle) {
		runs := make(chan string, 50)
		got := together(50, func(i int) string { return untilDone(s.guards()[i%2], runs) })
		if diff := cmp.Diff(map[string]int{"run 1": 50}, got); diff != "" || len(runs) != 1 {
			t.Errorf("%d runs, results (-want +got):\n%s", len(runs), diff)
		}
	})
}
