package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// set is a write inside a script, the way in which all ours happen.
var set = redis.NewScript(`return redis.call("SET", KEYS[1], ARGV[1])`)

func TestIsUnreachable(t *testing.T) {
	t.Parallel()

	t.Run("a server that refuses all", func(t *testing.T) {
		t.Parallel()
		for _, reply := range []string{
			"LOADING Redis is loading the dataset in memory",
			"READONLY You can't write against a read only replica.",
			"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
			"CLUSTERDOWN The cluster is down",
			"TRYAGAIN Multiple keys request during rehashing of slot",
			"NOREPLICAS Not enough good replicas to write.",
			"MISCONF Redis is configured to save RDB snapshots",
			"ERR max number of clients reached",
			"ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
		} {
			m := redistest.Miniredis(t)
			m.SetError(reply)
			// One try: that go-redis repeats these is not in question here.
			rdb := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1, Protocol: 2})
			t.Cleanup(func() { _ = rdb.Close() })
			wantUnreachable(t, fmt.Errorf("reserve: %w", rdb.Get(t.Context(), "key").Err()))
		}
	})

	t.Run("a replica without its master", func(t *testing.T) {
		t.Parallel()
		rdb := redistest.Start(t, "--replicaof", "127.0.0.1", "1", "--replica-serve-stale-data", "no").Client()
		wantUnreachable(t, rdb.Get(t.Context(), "key").Err())
	})

	t.Run("a script that writes on a replica", func(t *testing.T) {
		t.Parallel()
		rdb := redistest.Start(t, "--replicaof", "127.0.0.1", "1").Client()
		wantUnreachable(t, set.Run(t.Context(), rdb, []string{"key"}, "value").Err())
	})

	t.Run("no room for another client", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--maxclients", "1")
		wantPong(t, s.Client()) // holds its connection
		wantUnreachable(t, s.Client().Ping(t.Context()).Err())
	})

	t.Run("a server that is busy with a script", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--lua-time-limit", "1")
		rdb, other := s.Client(), s.Client()
		ended := make(chan error)
		go func() { ended <- rdb.Eval(t.Context(), "while true do end", nil).Err() }()
		err := other.Ping(t.Context()).Err()
		for err == nil { // the script is not there yet
			err = other.Ping(t.Context()).Err()
		}
		wantUnreachable(t, err)
		if err := other.ScriptKill(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || redisconn.IsUnreachable(err) {
			t.Errorf("the killed script: %v, want an error of the script itself", err)
		}
	})

	t.Run("a client that has no connection to give", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{redis.ErrPoolTimeout, redis.ErrPoolExhausted, redis.ErrClosed, context.DeadlineExceeded} {
			wantUnreachable(t, fmt.Errorf("start: %w", err))
		}
	})
}

func TestIsFull(t *testing.T) {
	t.Parallel()
	wantFull := func(t *testing.T, err error) {
		t.Helper()
		if !redisconn.IsFull(err) || redisconn.IsUnreachable(err) {
			t.Errorf("error %v: full %v, unreachable %v; want full only", err, redisconn.IsFull(err), redisconn.IsUnreachable(err))
		}
	}

	t.Run("a server without memory left, in a command and in a script", func(t *testing.T) {
		t.Parallel()
		// One byte is less than an empty server uses.
		rdb := redistest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction").Client()
		wantFull(t, rdb.Set(t.Context(), "key", "value", 0).Err())
		wantFull(t, fmt.Errorf("reserve: %w", set.Run(t.Context(), rdb, []string{"key"}, "value").Err()))
		wantPong(t, rdb)
	})

	t.Run("a script of Redis 6", func(t *testing.T) {
		t.Parallel()
		m := redistest.Miniredis(t)
		m.SetError("ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.")
		wantFull(t, redistest.Client(t, m).Ping(t.Context()).Err())
	})
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, err error) {
		t.Helper()
		if redisconn.IsUnreachable(err) || redisconn.IsFull(err) {
			t.Errorf("error %v: unreachable %v, full %v; want neither", err, redisconn.IsUnreachable(err), redisconn.IsFull(err))
		}
	}
	check(t, nil)
	check(t, errors.New("LOADING is said by somebody else than Redis"))

	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		if err := rdb.Set(ctx, "text", strings.Repeat("x", 10), 0).Err(); err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		for name, err := range map[string]error{
			"no such key":        rdb.Get(ctx, "nothing").Err(),
			"a wrong type":       rdb.HGet(ctx, "text", "field").Err(),
			"an unknown script":  rdb.EvalSha(ctx, strings.Repeat("0", 40), nil).Err(),
			"a script's mistake": rdb.Eval(ctx, `return redis.call("SET")`, nil).Err(),
			"a script's own":     rdb.Eval(ctx, `return redis.error_reply("OOMPH nothing to do with memory")`, nil).Err(),
			"a cancelled call":   rdb.Ping(cancelled).Err(),
		} {
			if err == nil {
				t.Errorf("%s is no error", name)
			}
			check(t, err)
		}
	})
}
