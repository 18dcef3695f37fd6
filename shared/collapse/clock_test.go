package collapse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// clocked is a miniredis whose clock, of TIME and of expiry, a test moves.
type clocked struct {
	*miniredis.Miniredis
	rdb *redis.Client
	now time.Time
}

func newClocked(tb testing.TB) *clocked {
	tb.Helper()
	m := redistest.Miniredis(tb)
	c := &clocked{Miniredis: m, rdb: redistest.Client(tb, m), now: time.UnixMilli(1_796_119_200_000)}
	m.SetTime(c.now)
	return c
}

func (c *clocked) pass(d time.Duration) {
	c.now = c.now.Add(d)
	c.SetTime(c.now)
	c.FastForward(d)
}

// dump is all that Redis holds, one line per field and expiry.
func (c *clocked) dump(tb tester) []string {
	tb.Helper()
	var lines []string
	for _, key := range c.Keys() {
		lines = append(lines, fmt.Sprintf("%s expires in %v", key, c.TTL(key)))
		if c.TTL(key) <= 0 {
			tb.Fatalf("%s has no expiry", key)
		}
		if c.Type(key) == "string" {
			lines = append(lines, fmt.Sprintf("%s=%s", key, c.string(tb, key)))
			continue
		}
		fields, err := c.HKeys(key)
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range fields {
			lines = append(lines, fmt.Sprintf("%s %s=%.40q", key, f, c.HGet(key, f)))
		}
	}
	slices.Sort(lines)
	return lines
}

func (c *clocked) string(tb tester, key string) string {
	tb.Helper()
	text, err := c.Get(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// instance runs single scripts, as an instance under the nonce does.
type instance struct {
	*store
	key   Key
	nonce string
	p     Policy
}

func newInstance(rdb *redis.Client, nonce string) *instance {
	p := Policy{Times: Times{Fresh: time.Minute}, Lease: 3 * time.Second, NegativeTTL: time.Second}.withDefaults()
	return &instance{newStore(rdb, time.Minute), Key{Origin: "shop", Read: "/price"}, nonce, p}
}

func (i *instance) join(tb tester, since int64) verdict {
	tb.Helper()
	v := i.store.join(tb.Context(), i.key, i.p, i.nonce, since)
	if string(v.text) == DetailRedis {
		tb.Fatal("join: Redis refused")
	}
	return v
}

func (i *instance) settle(tb tester, x settlement) string {
	tb.Helper()
	answer, err := i.store.settle(tb.Context(), i.key, i.p, i.nonce, x)
	if err != nil {
		tb.Fatalf("settle: %v", err)
	}
	return answer
}

func (i *instance) fill(tb tester, text string) string {
	tb.Helper()
	return i.settle(tb, settlement{kind: kindValue, body: []byte(text), times: i.p.Times})
}

func (i *instance) forget(tb tester) {
	tb.Helper()
	if err := i.invalidate(tb.Context(), i.key); err != nil {
		tb.Fatal(err)
	}
}

func (v verdict) String() string { return strings.TrimSpace(v.kind + " " + string(v.text)) }

// expect fails unless a verdict or answer is want.
func expect(tb tester, what string, got any, want string) {
	tb.Helper()
	if fmt.Sprint(got) != want {
		tb.Fatalf("%s: %v, want %s", what, got, want)
	}
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	rapid.TB
	Context() context.Context
}
