package target_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/target"
)

func TestFunc(t *testing.T) {
	t.Parallel()
	type response = target.Response
	for _, tt := range []struct {
		name   string
		f      target.Func
		want   target.Outcome
		reason string
		counts bool
		says   string // in the error
	}{
		{"accepts an empty response", func(context.Context, target.Request) (response, error) { return response{}, nil },
			target.Accept, "status", true, ""},
		{"accepts a 2xx", func(context.Context, target.Request) (response, error) { return response{Status: 201}, nil },
			target.Accept, "status", true, ""},
		{"ends with a 4xx", func(context.Context, target.Request) (response, error) { return response{Status: 404}, nil },
			target.Final, "status", true, "404"},
		{"retries a 500", func(context.Context, target.Request) (response, error) { return response{Status: 500}, nil },
			target.Retry, "status", true, "500"},
		{"does not count a 429", func(context.Context, target.Request) (response, error) { return response{Status: 429}, nil },
			target.Retry, "status", false, "429"},
		{"retries a status that is none", func(context.Context, target.Request) (response, error) { return response{Status: 101}, nil },
			target.Retry, "error", true, "200-599"},
		{"is accepted as far as a response that is too large goes", func(context.Context, target.Request) (response, error) {
			return response{Body: make([]byte, target.Limit+1)}, nil
		}, target.Accept, "status", true, ""},
		{"retries an error, whatever comes with it", func(context.Context, target.Request) (response, error) {
			return response{Status: 200}, errors.New("ledger is locked")
		}, target.Retry, "error", true, "ledger is locked"},
		{"ends with a final error", func(context.Context, target.Request) (response, error) {
			return response{}, fmt.Errorf("no such account: %w", target.ErrFinal)
		}, target.Final, "error", true, "no such account"},
		{"retries a panic and shows where, not with what", func(context.Context, target.Request) (response, error) { panic(`{"amount":7}`) },
			target.Retry, "panic", true, "func_test.go"},
		{"retries a panic with an error and shows it", func(_ context.Context, req target.Request) (response, error) {
			return response{Status: int(req.Body[99])}, nil
		}, target.Retry, "panic", true, "index out of range"},
		{"retries a panic with nil", func(context.Context, target.Request) (response, error) { panic(nil) },
			target.Retry, "panic", true, "func_test.go"},
		{"retries a panic with a final error", func(context.Context, target.Request) (response, error) { panic(target.ErrFinal) },
			target.Retry, "panic", true, "func_test.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, tt.f)
			wantEnd(t, got, tt.want, tt.reason, tt.counts)
			if tt.says != "" && !strings.Contains(got.Err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", got.Err, tt.says)
			}
			wantNoLeak(t, got.Err, "amount")
		})
	}

	t.Run("cannot harm the request that its retry needs", func(t *testing.T) {
		t.Parallel()
		req := charge()
		target.Func(func(_ context.Context, req target.Request) (response, error) {
			clear(req.Body)
			req.Header.Set("Content-Type", "none")
			return response{}, nil
		}).Do(context.Background(), req)
		if diff := cmp.Diff(charge(), req); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})

	for reason, cause := range map[string]error{"lease-lost": target.ErrLeaseLost, "timeout": context.DeadlineExceeded, "canceled": nil} {
		t.Run("that stops with its context ends "+reason, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			if reason == "timeout" {
				c, stop := context.WithTimeout(ctx, 0)
				defer stop()
				ctx = c
			}
			f := target.Func(func(ctx context.Context, _ target.Request) (response, error) {
				cancel(cause)
				<-ctx.Done()
				return response{}, ctx.Err()
			})
			wantEnd(t, f.Do(ctx, charge()), target.Retry, reason, true)
		})
	}

	t.Run("that finished all the same is accepted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(context.Background())
		f := target.Func(func(context.Context, target.Request) (response, error) {
			cancel(target.ErrLeaseLost)
			return response{}, nil
		})
		wantEnd(t, f.Do(ctx, charge()), target.Accept, "status", true)
	})
}

func TestFuncWith(t *testing.T) {
	t.Parallel()
	hangs := target.Func(func(ctx context.Context, _ target.Request) (target.Response, error) {
		<-ctx.Done()
		return target.Response{}, ctx.Err()
	})
	busy := target.Func(func(context.Context, target.Request) (target.Response, error) {
		return target.Response{Status: 503}, nil
	})
	for name, tt := range map[string]struct {
		f      target.Func
		cfg    target.Config
		want   target.Outcome
		reason string
		counts bool
	}{
		"ends at the timeout":             {hangs, target.Config{Timeout: 1, RetryTimeout: true}, target.Retry, "timeout", true},
		"ends finally where rules say so": {hangs, target.Config{Timeout: 1}, target.Final, "timeout", true},
		"is judged by the rules":          {busy, target.Config{Retryable: func(int) bool { return false }}, target.Final, "status", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantEnd(t, tt.f.With(tt.cfg).Do(context.Background(), charge()), tt.want, tt.reason, tt.counts)
		})
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, target.Request) (target.Response, error) { return target.Response{}, nil }
	panics := func(f func()) (text any) {
		defer func() { text = recover() }()
		f()
		return nil
	}

	t.Run("has what was added and nothing else", func(t *testing.T) {
		t.Parallel()
		var s target.Set
		if got, ok := s.Get("billing"); ok || got != nil {
			t.Errorf("an empty set has %v", got)
		}
		s.Register("billing", nothing)
		if err := s.Add("mail", newHTTP(t, "http://127.0.0.1:1", nil)); err != nil {
			t.Errorf("Add: %v", err)
		}
		for _, name := range []string{"billing", "mail"} {
			if _, ok := s.Get(name); !ok {
				t.Errorf("%s is missing", name)
			}
		}
	})
	t.Run("refuses what cannot be meant", func(t *testing.T) {
		t.Parallel()
		var s target.Set
		s.Register("billing", nothing)
		for name, register := range map[string]func(){
			"a name twice":  func() { s.Register("billing", nothing) },
			"no name":       func() { s.Register("", nothing) },
			"no function":   func() { s.Register("mail", nil) },
			"a second HTTP": func() { panic(s.Add("billing", newHTTP(t, "http://127.0.0.1:1", nil)).Error()) },
		} {
			if text := panics(register); text == nil {
				t.Errorf("%s was taken", name)
			}
		}
	})
	t.Run("takes a name once from a hundred goroutines", func(t *testing.T) {
		t.Parallel()
		var s target.Set
		var wg sync.WaitGroup
		added := make(chan bool, 100)
		for range 100 {
			wg.Go(func() {
				s.Get("billing")
				added <- s.Add("billing", target.Func(nothing)) == nil
			})
		}
		wg.Wait()
		close(added)
		n := 0
		for ok := range added {
			if ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("added %d times", n)
		}
	})
}
