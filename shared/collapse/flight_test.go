package collapse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Without Redis the Group is all in this process, and the clock a test's own.

func TestDo_inProcess(t *testing.T) {
	t.Parallel()

	t.Run("collapses, and says that it had no Redis", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(time.Minute)
			collect := b.many(t, 250, within(time.Hour))
			results := collect()
			outcomes := map[string]int{}
			for _, r := range results {
				outcomes[fmt.Sprint(r.Outcome, r.Collapsed, r.Detail, r.err, string(r.Value))]++
			}
			want := map[string]int{"missfalseredis<nil>answer 1": 1, "misstrueredis<nil>answer 1": 249}
			if diff := cmp.Diff(want, outcomes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			b.origin.called(t, 1)
		})
	})

	t.Run("a fetch outlives the caller whose it was", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(time.Minute)
			ctx, leave := context.WithCancelCause(t.Context())
			first := make(chan error)
			go func() {
				_, err := b.Do(ctx, b.key, Policy{Timeout: time.Hour}, b.origin.fetch)
				first <- err
			}()
			synctest.Wait()
			others := b.many(t, 10, within(time.Hour))
			synctest.Wait()
			gone := errors.New("the browser was closed")
			leave(gone)
			if err := <-first; !errors.Is(err, gone) {
				t.Errorf("who left: %v", err)
			}
			for _, r := range others() {
				if r.err != nil || string(r.Value) != "answer 1" {
					t.Errorf("who stayed: %+v", r)
				}
			}
			b.origin.called(t, 1)
		})
	})

	t.Run("a caller waits no longer than its policy says, and calls nobody", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(10 * time.Minute)
			leader := b.many(t, 1, within(time.Hour))
			synctest.Wait()
			began := time.Now()
			_, err := b.do(t, within(time.Hour), func(p *Policy) { p.Wait = 3 * time.Minute })
			if waited := time.Since(began); !errors.Is(err, ErrWait) || waited != 3*time.Minute {
				t.Errorf("after %v: %v, want ErrWait after 3m", waited, err)
			}
			if r := leader()[0]; r.err != nil {
				t.Errorf("leader: %v", r.err)
			}
			b.origin.called(t, 1)
		})
	})

	t.Run("by default a caller outwaits a dead leader and its successor", func(t *testing.T) {
		t.Parallel()
		p := Policy{Timeout: 7 * time.Second}.withDefaults()
		if p.Wait < 2*p.Timeout+p.Lease {
			t.Errorf("Wait %v, Timeout %v, Lease %v", p.Wait, p.Timeout, p.Lease)
		}
	})

	t.Run("a fetch ends with its timeout, and all learn it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(time.Hour)
			began := time.Now()
			for _, r := range b.many(t, 20, within(time.Minute))() {
				if !errors.Is(r.err, ErrOrigin) || !errors.Is(r.err, context.DeadlineExceeded) {
					t.Errorf("%v, want ErrOrigin for the deadline", r.err)
				}
			}
			if took := time.Since(began); took != time.Minute {
				t.Errorf("took %v, want the timeout", took)
			}
		})
	})

	t.Run("a panic is an error", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = func(context.Context, int64, *Stored) (Answer, error) { panic("nil map") }
			for _, r := range b.many(t, 3)() {
				if !errors.Is(r.err, ErrOrigin) || !strings.Contains(r.err.Error(), "nil map") {
					t.Errorf("%v, want ErrOrigin with the panic's text", r.err)
				}
			}
		})
	})

	t.Run("an invalidation parts those before it from those after", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(time.Minute)
			before := b.many(t, 1, within(time.Hour))
			synctest.Wait()
			during := b.many(t, 5, within(time.Hour))
			time.Sleep(10 * time.Second) // of the test's own clock
			if err := b.Invalidate(t.Context(), b.key); err != nil {
				t.Fatal(err)
			}
			after := b.many(t, 5, within(time.Hour))
			if r := before()[0]; string(r.Value) != "answer 1" {
				t.Errorf("before: %+v", r)
			}
			// Those who came during the old fetch share the new one: who came
			// before the invalidation is not told from who came after.
			for _, r := range append(during(), after()...) {
				if string(r.Value) != "answer 2" {
					t.Errorf("during or after: %+v", r)
				}
			}
			b.origin.called(t, 2)
		})
	})

	t.Run("Close answers who waits and cancels the fetch", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			b.origin.hook = slow(time.Hour)
			collect := b.many(t, 5, within(2*time.Hour))
			synctest.Wait()
			b.Close()
			for _, r := range collect() {
				if !errors.Is(r.err, ErrClosed) {
					t.Errorf("%v, want ErrClosed", r.err)
				}
			}
			if _, err := b.do(t); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v, want ErrClosed", err)
			}
		})
	})
}

func TestDo_private(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, nil)
		b.origin.hook = func(ctx context.Context, call int64, _ *Stored) (Answer, error) {
			a, err := slow(time.Minute)(ctx, call, nil)
			a.Private = true
			return a, err
		}
		began := time.Now()
		results := b.many(t, 41, within(time.Hour), func(p *Policy) { p.Passes = 10 })()

		seen := map[string]bool{}
		for _, r := range results {
			if r.err != nil || r.Collapsed || r.Stored || seen[string(r.Value)] {
				t.Errorf("%+v: shared, stored or failed", r)
			}
			seen[string(r.Value)] = true
		}
		// One finds out; the other 40 pass, ten at a time.
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("took %v, want 5m", took)
		}
		if most := b.origin.most.Load(); most != 10 {
			t.Errorf("%d at the origin at once, want 10", most)
		}
		if len(b.gates) != 0 {
			t.Errorf("%d gates left over", len(b.gates))
		}
	})
}

// slow answers after d.
func slow(d time.Duration) func(context.Context, int64, *Stored) (Answer, error) {
	return func(ctx context.Context, call int64, _ *Stored) (Answer, error) {
		select {
		case <-time.After(d):
			return Answer{Value: fmt.Appendf(nil, "answer %d", call)}, nil
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
	}
}

func within(d time.Duration) func(*Policy) { return func(p *Policy) { p.Timeout = d } }
