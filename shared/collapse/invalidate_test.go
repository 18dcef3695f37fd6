package collapse

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestInvalidate_duringFill(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()
		before := a.many(t, 1)
		<-entered

		// The other instance invalidates; a caller of the leader's instance
		// joins the old flight, as it cannot know.
		if err := b.Invalidate(t.Context(), b.key); err != nil {
			t.Fatal(err)
		}
		after := a.many(t, 10)
		a.waiting(t, 10)
		release()

		if r := before()[0]; string(r.Value) != "answer 1" || r.Stored || r.Detail != DetailLost {
			t.Errorf("before: %+v, want the old answer, not stored", r)
		}
		for _, r := range append(after(), b.many(t, 10)()...) {
			if r.err != nil || string(r.Value) != "answer 2" {
				t.Errorf("after: %+v", r)
			}
		}
		a.origin.called(t, 2)
	})
}

func TestInvalidate_variants(t *testing.T) {
	t.Parallel()
	of := func(b *bundle, variant string) *bundle {
		key := b.key
		key.Variant = variant
		return &bundle{b.Group, b.origin, key}
	}

	t.Run("all that are stored, and no other read", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			b := setup(t, rdb)
			other := of(b, "de")
			other.key.Read += "&in=EUR"
			read := func(want ...string) {
				t.Helper()
				for n, x := range []*bundle{b, of(b, "de"), of(b, "fr"), other} {
					if r := x.must(t); string(r.Value) != want[n] {
						t.Errorf("%+v: %q, want %q", x.key, r.Value, want[n])
					}
				}
			}
			for range 2 {
				read("answer 1", "answer 2", "answer 3", "answer 4")
			}
			if err := b.Invalidate(t.Context(), of(b, "it").key); err != nil { // of a variant that nobody has read
				t.Fatal(err)
			}
			for range 2 {
				read("answer 5", "answer 6", "answer 7", "answer 4")
			}
		})
	})

	t.Run("a fill under way, whose followers do not wait for it", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			a := of(setup(t, rdb), "de")
			b := of(beside(t, rdb, a.origin), "de")
			b.poll = time.Hour
			entered, release := a.origin.gated()
			leader := a.many(t, 1)
			<-entered
			there := b.many(t, 5, func(p *Policy) { p.Lease = time.Hour })
			b.following(t, rdb, 1)
			if err := b.Invalidate(t.Context(), of(b, "fr").key); err != nil {
				t.Fatal(err)
			}
			for _, r := range there() {
				if r.err != nil || string(r.Value) != "answer 2" {
					t.Errorf("follower: %+v", r)
				}
			}
			release()
			if r := leader()[0]; r.err != nil || string(r.Value) != "answer 1" || r.Detail != DetailLost {
				t.Errorf("leader: %+v", r)
			}
			if r := b.must(t); string(r.Value) != "answer 2" || r.Outcome != Hit {
				t.Errorf("afterwards: %+v", r)
			}
		})
	})

	t.Run("without Redis, a fill under way in the instance", func(t *testing.T) {
		t.Parallel()
		b := of(setup(t, nil), "de")
		entered, release := b.origin.gated()
		before := b.many(t, 1)
		<-entered
		if err := b.Invalidate(t.Context(), of(b, "fr").key); err != nil {
			t.Fatal(err)
		}
		if r := b.must(t); string(r.Value) != "answer 2" {
			t.Errorf("after: %+v", r)
		}
		release()
		if r := before()[0]; string(r.Value) != "answer 1" {
			t.Errorf("before: %+v", r)
		}
	})
}
