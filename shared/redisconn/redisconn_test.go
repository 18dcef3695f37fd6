package redisconn_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// certificate is some valid PEM text.
func certificate(t *testing.T) string {
	t.Helper()
	return redistest.StartTLS(t).CA()
}

func open(t *testing.T, cfg redisconn.Config) *redis.Client {
	t.Helper()
	rdb, err := redisconn.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func wantPong(t *testing.T, rdb *redis.Client) {
	t.Helper()
	if got, err := rdb.Ping(t.Context()).Result(); err != nil || got != "PONG" {
		t.Errorf("PING: %q, %v", got, err)
	}
}

func wantUnreachable(t *testing.T, err error) {
	t.Helper()
	if !redisconn.IsUnreachable(err) || redisconn.IsFull(err) {
		t.Errorf("error %v (%T): unreachable %v, full %v; want unreachable only", err, err, redisconn.IsUnreachable(err), redisconn.IsFull(err))
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("it needs no CLIENT command, which Memorystore blocks", func(t *testing.T) {
		t.Parallel()
		rdb := redistest.Start(t, "--rename-command", "CLIENT", "").Client()
		wantPong(t, rdb)
		if err := rdb.ClientID(t.Context()).Err(); err == nil {
			t.Fatal("the server knows CLIENT: the test shows nothing")
		}
	})

	t.Run("it selects the database of the URL", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		rdb := open(t, redisconn.Config{URL: s.URL() + "/3"})
		if err := rdb.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Client().DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("keys in database 0: %d, %v; want 0", n, err)
		}
	})

	t.Run("it connects only when it is used, and again when Redis is back", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Kill()
		rdb := open(t, redisconn.Config{URL: s.URL()})
		wantUnreachable(t, rdb.Ping(t.Context()).Err())
		s.Restart()
		wantPong(t, rdb)

		// A connection that was open when the server died costs no error.
		s.Restart()
		wantPong(t, rdb)
	})

	t.Run("the caller's deadline bounds a call that nobody answers", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		rdb := s.Client()
		wantPong(t, rdb)
		s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		wantUnreachable(t, rdb.Ping(ctx).Err())
		s.Resume()
		wantPong(t, rdb)
	})
}

func TestOpenTLS(t *testing.T) {
	t.Parallel()
	const password = "s3cr/t:@"
	s := redistest.StartTLS(t, "--requirepass", password)
	withPassword := func(scheme, password string) string {
		return (&url.URL{Scheme: scheme, User: url.UserPassword("", password), Host: s.Addr()}).String()
	}

	t.Run("the right authority and password", func(t *testing.T) {
		t.Parallel()
		cfg, err := redisconn.FromEnv(environment(map[string]string{
			"SERIATIM_REDIS_URL": withPassword("rediss", password), "SERIATIM_REDIS_CA": s.CA(),
		}))
		if err != nil {
			t.Fatal(err)
		}
		wantPong(t, open(t, cfg))
	})

	t.Run("several authorities, as while one replaces another", func(t *testing.T) {
		t.Parallel()
		wantPong(t, open(t, redisconn.Config{URL: withPassword("rediss", password), CA: certificate(t) + s.CA()}))
	})

	for name, cfg := range map[string]redisconn.Config{
		"the system's authorities": {URL: withPassword("rediss", password)},
		"another authority":        {URL: withPassword("rediss", password), CA: certificate(t)},
		"a wrong password":         {URL: withPassword("rediss", "guess"), CA: s.CA()},
		"no password":              {URL: s.URL(), CA: s.CA()},
		"no TLS":                   {URL: withPassword("redis", password)},
		"another host's name":      {URL: "rediss://localhost:" + s.Addr()[len("127.0.0.1:"):], CA: s.CA()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantUnreachable(t, open(t, cfg).Ping(t.Context()).Err())
		})
	}

	t.Run("a server without TLS", func(t *testing.T) {
		t.Parallel()
		plain := redistest.Start(t)
		wantUnreachable(t, open(t, redisconn.Config{URL: "rediss://" + plain.Addr()}).Ping(t.Context()).Err())
	})
}
