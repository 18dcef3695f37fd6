package slottest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is a redis.Scripter whose scripts read the time from the test. It works on any Redis, so that a story runs on a real
// server as fast, and with the same instants, as on miniredis. Redis' own clock still ends the life of keys: tests that are
// about expiry need miniredis.
//
// It begins at the machine's time and only moves by Advance. It is safe for concurrent use, but for After.
type Clock struct {
	redis.Scripter
	// After, when set, runs after every script.
	After func()

	edits []Edit

	mu      sync.Mutex
	now     time.Time
	scripts map[string]*redis.Script // by the SHA-1 of the text that the caller knows
}

// Edit replaces a part of every script that has it: a mutation, to prove that a test would notice.
type Edit struct{ Old, New string }

const (
	readsRedis = "local clock = redis.call('TIME')"
	readsTest  = "local clock = { ARGV[#ARGV - 1], ARGV[#ARGV] }"
)

// NewClock returns a Clock on rdb.
func NewClock(rdb redis.Scripter, edits ...Edit) *Clock {
	return &Clock{
		Scripter: rdb, edits: edits, now: time.Now().Truncate(time.Millisecond),
		scripts: map[string]*redis.Script{},
	}
}

// Now is the time in Redis milliseconds.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.UnixMilli()
}

// Advance moves the time by d, back when d is negative: Redis' clock may step too.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Eval runs the script with the clock's time.
func (c *Clock) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	sum := sha1.Sum([]byte(source))
	c.learn(hex.EncodeToString(sum[:]), source)
	return c.EvalSha(ctx, hex.EncodeToString(sum[:]), keys, args...)
}

// EvalSha runs a script that Eval has seen; for another one it answers NOSCRIPT, as Redis does.
func (c *Clock) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.mu.Lock()
	script, now := c.scripts[sha], c.now
	c.mu.Unlock()
	if script == nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(noScript{})
		return cmd
	}
	args = append(append([]any{}, args...), now.Unix(), now.Nanosecond()/1000)
	cmd := script.Run(ctx, c.Scripter, keys, args...)
	if c.After != nil {
		c.After()
	}
	return cmd
}

func (c *Clock) learn(sha, source string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scripts[sha] != nil {
		return
	}
	if strings.Count(source, readsRedis) != 1 {
		panic(fmt.Sprintf("slottest: a script does not read the time once, as %q", readsRedis))
	}
	text := strings.Replace(source, readsRedis, readsTest, 1)
	for _, e := range c.edits {
		text = strings.ReplaceAll(text, e.Old, e.New)
	}
	c.scripts[sha] = redis.NewScript(text)
}

type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script" }
func (noScript) RedisError()   {}
