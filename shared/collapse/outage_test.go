package collapse

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestDo_redisOutOfReach(t *testing.T) {
	t.Parallel()

	t.Run("from the start", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		server.Kill()
		b := setup(t, server.Client())
		entered, release := b.origin.gated()
		leader := b.many(t, 1)
		<-entered
		others := b.many(t, 50)
		b.waiting(t, 50)
		release()
		for _, r := range append(leader(), others()...) {
			if r.err != nil || string(r.Value) != "answer 1" || r.Stored || r.Detail != DetailRedis {
				t.Errorf("%+v, want an answer that was not stored", r)
			}
		}
		b.origin.called(t, 1)
		if err := b.Invalidate(t.Context(), b.key); err == nil {
			t.Error("Invalidate says that all instances know")
		}
	})

	t.Run("lost during the fetch", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		b := setup(t, server.Client())
		entered, release := b.origin.gated()
		leader := b.many(t, 1)
		<-entered
		others := b.many(t, 50)
		b.waiting(t, 50)
		server.Kill()
		release()
		for _, r := range append(leader(), others()...) {
			if r.err != nil || string(r.Value) != "answer 1" || r.Stored || r.Detail != DetailRedis {
				t.Errorf("%+v, want an answer that was not stored", r)
			}
		}
		b.origin.called(t, 1)
	})

	t.Run("lost while others follow: one call for each instance", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		observer := server.Client()
		a := setup(t, server.Client())
		b := beside(t, server.Client(), a.origin)
		entered, release := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		there := b.many(t, 50)
		b.following(t, observer, 1)
		server.Kill()
		for _, r := range there() {
			if r.err != nil || string(r.Value) != "answer 2" || r.Detail != DetailRedis {
				t.Errorf("follower: %+v", r)
			}
		}
		release()
		if r := leader()[0]; r.err != nil || string(r.Value) != "answer 1" {
			t.Errorf("leader: %+v", r)
		}
		a.origin.called(t, 2)
	})

	t.Run("silent: its timeout is paid once, then it is left alone", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		o := &origin{t: t}
		g := New(Options{Redis: server.Client(), RedisTimeout: 50 * time.Millisecond})
		t.Cleanup(g.Close)
		b := &bundle{Group: g, origin: o, key: Key{Origin: "shop", Read: "/"}}
		server.Pause()
		defer server.Resume()
		if r := b.must(t); r.Detail != DetailRedis {
			t.Errorf("%+v", r)
		}
		if _, err := b.store.run(t.Context(), joinScript, b.key); !errors.Is(err, errRetreat) {
			t.Errorf("the next call: %v, want %v", err, errRetreat)
		}
	})

	t.Run("full: stored answers are given, others fetched, nothing is lost", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--maxmemory-policy", "noeviction")
		rdb := server.Client()
		b := setup(t, rdb)
		b.must(t)
		if err := rdb.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
			t.Fatal(err)
		}
		if r := b.must(t); r.Outcome != Hit {
			t.Errorf("a stored read: %+v", r)
		}
		b.key.Read = "/other"
		if r := b.must(t); r.Detail != DetailRedis || string(r.Value) != "answer 2" {
			t.Errorf("another read: %+v", r)
		}
		b.key.Read = "/price?of=pear"
		if err := b.Invalidate(t.Context(), b.key); err != nil {
			t.Errorf("Invalidate: %v", err)
		}
		if n := rdb.Exists(t.Context(), b.key.entry()).Val(); n != 0 {
			t.Error("the invalidated entry is still there")
		}
	})
}

// A program may end in any order.
func TestClose_afterItsClient(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		client := redial(t, rdb, func(c net.Conn) net.Conn { return c })
		a := setup(t, rdb)
		b := beside(t, client, a.origin)
		entered, release := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		there := b.many(t, 5)
		b.following(t, rdb, 1)
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		for _, r := range there() {
			if r.err != nil || string(r.Value) != "answer 2" || r.Detail != DetailRedis {
				t.Errorf("%+v, want a fetch of the instance's own", r)
			}
		}
		b.Close()
		release()
		leader()
	})
}
