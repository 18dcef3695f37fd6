package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
)

// Each runs fn as two parallel subtests, "miniredis" and "redis", each with
// an empty server of its own. fn must not call t.Parallel: Each has. Time runs
// by the wall clock on both.
func Each(t *testing.T, fn func(t *testing.T, rdb *redis.Client)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		m := Miniredis(t)
		m.ClockTTL(true)
		fn(t, Client(t, m))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		fn(t, Start(t).Client())
	})
}

// Miniredis starts a miniredis that ends with the test. Its TTLs stand still
// until the test calls FastForward, or ClockTTL(true) to have them follow
// SetTime.
func Miniredis(tb testing.TB) *miniredis.Miniredis {
	tb.Helper()
	return miniredis.RunT(tb)
}

// Client returns a new client of m, closed when the test ends.
func Client(tb testing.TB, m *miniredis.Miniredis) *redis.Client {
	tb.Helper()
	return client(tb, redisconn.Config{URL: "redis://" + m.Addr()})
}

func client(tb testing.TB, cfg redisconn.Config) *redis.Client {
	tb.Helper()
	rdb, err := redisconn.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			tb.Errorf("close client of %v: %v", cfg, err)
		}
	})
	return rdb
}
