package collapse

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// To show 6: an answer that cannot be shared is found out once, and then all
// pass in parallel under the cap.
func TestDo_pass(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		four := func(p *Policy) { p.Passes = 4 }
		entered, release, full := make(chan struct{}), make(chan struct{}), make(chan struct{})
		a.origin.hook = func(_ context.Context, call int64, _ *Stored) (Answer, error) {
			if call == 1 {
				close(entered)
				<-release
			}
			if call > 1 && call <= 9 {
				if call == 9 { // eight at once: four for each instance
					close(full)
				}
				<-full
			}
			return Answer{Value: fmt.Appendf(nil, "cookie %d", call), Private: true}, nil
		}
		leader := a.many(t, 1, four)
		<-entered
		here, there := a.many(t, 20, four), b.many(t, 20, four)
		a.waiting(t, 20)
		b.following(t, rdb, 1)
		close(release)

		seen := map[string]bool{}
		for _, r := range append(append(leader(), here()...), there()...) {
			if r.err != nil || r.Collapsed || r.Stored || seen[string(r.Value)] {
				t.Errorf("shared or failed: %+v", r)
			}
			seen[string(r.Value)] = true
		}
		if most := a.origin.most.Load(); most != 8 {
			t.Errorf("%d at the origin at once, want 2 x 4", most)
		}
		for _, fields := range rdb.HGetAll(t.Context(), a.key.entry()).Val() {
			if len(fields) > 6 && fields[:6] == "cookie" {
				t.Errorf("Redis holds %q", fields)
			}
		}
	})
}

func TestDo_largeValue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		a.origin.hook = answers(Answer{Value: make([]byte, MaxValue+1)}, nil)
		for n, instance := range []*bundle{a, b, a} {
			r := instance.must(t)
			if len(r.Value) != MaxValue+1 || r.Stored || r.Detail != DetailLarge || r.Outcome != Miss {
				t.Errorf("read %d: %d bytes, %s, stored %v, detail %q", n, len(r.Value), r.Outcome, r.Stored, r.Detail)
			}
		}
		a.origin.called(t, 3)
	})
}

// To show 4.
func TestDo_leaderLeaves(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := a.Do(ctx, a.key, Policy{Timeout: time.Minute, Lease: time.Minute}, a.origin.fetch)
			first <- err
		}()
		<-entered
		here, there := a.many(t, 20), b.many(t, 20)
		a.waiting(t, 20)
		b.following(t, rdb, 1)
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
		release()
		for _, r := range append(here(), there()...) {
			if r.err != nil || string(r.Value) != "answer 1" {
				t.Errorf("who stayed: %+v", r)
			}
		}
		a.origin.called(t, 1)
	})
}

func TestDo_followerDeadline(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		for _, r := range b.many(t, 20, func(p *Policy) { p.Wait = 20 * time.Millisecond })() {
			if !errors.Is(r.err, ErrWait) {
				t.Errorf("%+v, %v, want ErrWait", r.Result, r.err)
			}
		}
		release()
		if r := leader()[0]; r.err != nil {
			t.Errorf("leader: %v", r.err)
		}
		a.origin.called(t, 1)
	})
}

func TestClose_givesTheLeaseBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, _ := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		there := b.many(t, 20)
		b.following(t, rdb, 1)
		a.Close()
		if r := leader()[0]; !errors.Is(r.err, ErrClosed) {
			t.Errorf("leader: %+v, want ErrClosed", r)
		}
		// The lease, of a minute, is not waited for.
		for _, r := range there() {
			if r.err != nil || string(r.Value) != "answer 2" {
				t.Errorf("follower: %+v", r)
			}
		}
		a.origin.called(t, 2)
	})
}
