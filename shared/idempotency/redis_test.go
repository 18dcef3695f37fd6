package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	. "github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// twice sends every script twice, as a client does whose reply was lost. The
// second must answer as the first, change nothing, and leave no key immortal.
type twice struct {
	redis.Scripter
	t     *testing.T
	redis *miniredis.Miniredis
}

func (s *twice) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	first := s.Scripter.EvalSha(ctx, sha, keys, args...)
	if first.Err() != nil { // the script is not loaded yet
		return first
	}
	once := s.dump()
	second := s.Scripter.EvalSha(ctx, sha, keys, args...)
	if diff := cmp.Diff(once, s.dump()); diff != "" {
		s.t.Errorf("sent again, a script with %q changed (-once +twice):\n%s", args, diff)
	}
	if diff := cmp.Diff(first.Val(), second.Val()); diff != "" {
		s.t.Errorf("sent again, a script with %q answers (-once +twice):\n%s", args, diff)
	}
	return second
}

// dump is all that Redis holds, one line per field and expiry.
func (s *twice) dump() (lines []string) {
	for _, key := range s.redis.Keys() {
		if s.redis.TTL(key) <= 0 {
			s.t.Errorf("%s never expires", key)
		}
		if strings.Contains(key, order.Key) || strings.Count(key, "{") != 1 {
			s.t.Errorf("%s shows the key, or has no hash tag", key)
		}
		lines = append(lines, fmt.Sprintf("%s expires in %v", key, s.redis.TTL(key)))
		fields, _ := s.redis.HKeys(key)
		for _, field := range fields {
			lines = append(lines, fmt.Sprintf("%s %s=%q", key, field, s.redis.HGet(key, field)))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestRedis_scriptsSentAgain(t *testing.T) {
	t.Parallel()
	m := redistest.Miniredis(t)
	m.SetTime(time.UnixMilli(1_796_119_200_000))
	rdb := redistest.Client(t, m)
	ctx := t.Context()
	loader := NewRedis(rdb) // after it, each run of a script is one EVALSHA
	loaded := acquire(t, loader, hour)
	accept(t, loader, loaded, "")
	wantLost(t, "release", loader.Release(ctx, loaded))
	m.FlushDB()

	g := NewRedis(&twice{rdb, t, m})
	token := acquire(t, g, hour)
	want(t, lock(t, g, "print", hour), Running)
	want(t, lock(t, g, "other", hour), Mismatch)
	if err := g.Release(ctx, token); err != nil {
		t.Error(err)
	}
	token = acquire(t, g, time.Minute)
	m.FastForward(time.Minute)
	heir := acquire(t, g, hour)
	wantLost(t, "accept", g.Accept(ctx, token, nil, hour))
	wantLost(t, "release", g.Release(ctx, token))
	accept(t, g, heir, "result")
	wantResult(t, g, "result")
	m.FastForward(hour)
	accept(t, g, token, "late")
	if n := len(m.Keys()); n != 1 {
		t.Errorf("%d keys in Redis, want 1", n)
	}
}

func TestRedis_full(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, "--maxmemory-policy", "noeviction").Client()
	g := NewRedis(rdb)
	token := acquire(t, g, hour)
	if err := rdb.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil { // less than an empty server uses
		t.Fatal(err)
	}
	if err := g.Accept(t.Context(), token, []byte("result"), hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Accept: %v, want ErrUnavailable", err)
	}
	want(t, lock(t, g, "print", hour), Running)
	if err := g.Release(t.Context(), token); err != nil {
		t.Errorf("Release: %v, want it to pass, since it frees memory", err)
	}
	if _, err := g.TryLock(t.Context(), order, "print", hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	}
}

func TestRedis_away(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := NewRedis(server.Client())
	token := acquire(t, g, hour)
	server.Kill()
	_, err := g.TryLock(t.Context(), order, "print", hour)
	for verb, err := range map[string]error{
		"TryLock": err, "Accept": g.Accept(t.Context(), token, nil, hour), "Release": g.Release(t.Context(), token),
	} {
		if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), order.Key) {
			t.Errorf("%s: %v, want ErrUnavailable without the key", verb, err)
		}
	}
}

func TestMemory_closed(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	token := acquire(t, m, hour)
	m.Close()
	m.Close()
	if _, err := m.TryLock(t.Context(), order, "print", hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	}
	if err := m.Accept(t.Context(), token, nil, hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Accept: %v, want ErrUnavailable", err)
	}
}
