package collapse

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDo_stale(t *testing.T) {
	t.Parallel()
	// A value that is 70 s old: stale for ten seconds, kept for a day.
	setup := func(t *testing.T, change func(*Policy)) (c *clocked, a, b *bundle, policy func(*Policy)) {
		c = newClocked(t)
		a = setup(t, c.rdb)
		b = beside(t, c.rdb, a.origin)
		a.must(t, change)
		c.pass(70 * time.Second)
		return c, a, b, change
	}
	swr := func(p *Policy) { p.WhileRevalidate = time.Hour }
	sie := func(p *Policy) { p.IfError = time.Hour }
	fails := func(context.Context, int64, *Stored) (Answer, error) { return Answer{}, errors.New("refused") }

	t.Run("while one caller waits for the refresh, the others get the stale value", func(t *testing.T) {
		t.Parallel()
		_, a, b, p := setup(t, swr)
		entered, release := make(chan struct{}), make(chan struct{})
		a.origin.hook = func(_ context.Context, call int64, stored *Stored) (Answer, error) {
			if want := "answer 1"; stored == nil || string(stored.Value) != want || stored.Age < 70*time.Second {
				t.Errorf("handed %+v, want %s, 70 s old", stored, want)
			}
			close(entered)
			<-release
			return Answer{Value: fmt.Appendf(nil, "answer %d", call)}, nil
		}
		waits := a.many(t, 1, p)
		<-entered
		for _, instance := range []*bundle{a, b} {
			for _, r := range instance.many(t, 20, p)() {
				if r.err != nil || r.Outcome != Stale || string(r.Value) != "answer 1" || r.TTL >= 0 || r.Age < 70*time.Second {
					t.Errorf("%+v, want the stale value", r)
				}
			}
		}
		close(release)
		want := Result{Value: []byte("answer 2"), Outcome: Miss, Refetched: true, Stored: true}
		if diff := cmp.Diff(want, waits()[0].Result, untimed); diff != "" {
			t.Errorf("who waited (-want +got):\n%s", diff)
		}
		if r := b.must(t, p); r.Outcome != Hit || string(r.Value) != "answer 2" {
			t.Errorf("afterwards: %+v", r)
		}
		a.origin.called(t, 2)
	})

	t.Run("a herd on a stale value: one waits, nobody else calls", func(t *testing.T) {
		t.Parallel()
		_, a, _, p := setup(t, swr)
		_ = p
		waited := 0
		for _, r := range a.many(t, 100, swr)() {
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.Outcome == Miss {
				waited++
			}
		}
		if waited != 1 {
			t.Errorf("%d callers waited for the refresh, want 1", waited)
		}
		a.origin.called(t, 2)
	})

	t.Run("a failing origin is asked once per negative TTL, the stale value answers", func(t *testing.T) {
		t.Parallel()
		c, a, b, p := setup(t, sie)
		a.origin.hook = fails
		for round := range int64(3) {
			for _, instance := range []*bundle{a, b} {
				for _, r := range instance.many(t, 20, p)() {
					if r.err != nil || r.Outcome != Stale || string(r.Value) != "answer 1" {
						t.Errorf("%+v, want the stale value", r)
					}
				}
			}
			a.origin.called(t, 2+round)
			c.pass(time.Minute)
		}
		c.pass(time.Hour)
		if _, err := b.do(t, p); !errors.Is(err, ErrOrigin) {
			t.Errorf("past stale-if-error: %v, want ErrOrigin", err)
		}
	})

	t.Run("a failure goes to all when nothing may stand in, once per negative TTL", func(t *testing.T) {
		t.Parallel()
		c, a, b, p := setup(t, func(*Policy) {})
		a.origin.hook = answers(Answer{Value: []byte("503"), Failed: true}, nil)
		for round := range int64(3) {
			for _, instance := range []*bundle{a, b} {
				for _, r := range instance.many(t, 20, p)() {
					if r.err != nil || !r.Failed || string(r.Value) != "503" {
						t.Errorf("%+v, want the failure", r)
					}
				}
			}
			a.origin.called(t, 2+round)
			c.pass(time.Minute)
		}
	})

	t.Run("a value that has not changed is stored again", func(t *testing.T) {
		t.Parallel()
		c, a, b, p := setup(t, func(p *Policy) { p.Keep = time.Hour })
		a.origin.hook = func(_ context.Context, _ int64, stored *Stored) (Answer, error) {
			return Answer{Value: stored.Value, Times: &Times{Fresh: 2 * time.Minute}}, nil
		}
		if r := a.must(t, p); string(r.Value) != "answer 1" || !r.Refetched || !r.Stored {
			t.Errorf("revalidated: %+v", r)
		}
		c.pass(100 * time.Second)
		if r := b.must(t, p); r.Outcome != Hit || string(r.Value) != "answer 1" {
			t.Errorf("later: %+v", r)
		}
	})
}
