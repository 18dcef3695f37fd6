package redistest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()

		// The server is empty, and keeps what it is told.
		if n, err := rdb.DBSize(ctx).Result(); err != nil || n != 0 {
			t.Fatalf("keys of a new server: %d, %v; want 0", n, err)
		}
		if err := rdb.Set(ctx, "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := rdb.Get(ctx, "key").Result(); err != nil || got != "value" {
			t.Errorf("GET: %q, %v; want value", got, err)
		}
	})
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("two servers share nothing", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		if a.Addr() == b.Addr() {
			t.Fatalf("both listen on %s", a.Addr())
		}
		if err := a.Client().Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.Client().Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("the other server answers %v, want redis.Nil", err)
		}
	})

	t.Run("arguments win over ours", func(t *testing.T) {
		t.Parallel()
		rdb := redistest.Start(t, "--maxmemory", "3mb").Client()
		got, err := rdb.ConfigGet(t.Context(), "maxmemory").Result()
		if err != nil || got["maxmemory"] != "3145728" {
			t.Errorf("maxmemory: %v, %v; want 3145728", got, err)
		}
	})

	t.Run("a restarted server is at the same address, empty, for the same client", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		rdb, addr := s.Client(), s.Addr()
		if err := rdb.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		if err := rdb.Ping(t.Context()).Err(); err == nil {
			t.Fatal("a killed server answers")
		}
		s.Kill() // once more does no harm
		s.Restart()
		if s.Addr() != addr {
			t.Errorf("address %s after the restart, want %s", s.Addr(), addr)
		}
		if err := rdb.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("GET after the restart: %v, want redis.Nil", err)
		}
	})

	t.Run("a paused server answers only after it was resumed", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		rdb := s.Client()
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := rdb.Set(ctx, "key", "value", 0).Err(); err == nil {
			t.Fatal("a paused server answers")
		}
		s.Resume()
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING after Resume: %v", err)
		}
	})

	t.Run("a TLS server is not spoken to without its authority", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartTLS(t)
		if err := s.Client().Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING over TLS: %v", err)
		}
		plain := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
		defer plain.Close()
		if err := plain.Ping(t.Context()).Err(); err == nil {
			t.Error("the server answers without TLS")
		}
	})
}
