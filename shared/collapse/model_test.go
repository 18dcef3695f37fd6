package collapse

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is what the scripts must do with one variant of a read, in plain Go.
type model struct {
	leader     string // who may settle; "" when nobody
	leaseEnd   time.Time
	value      string // last accepted value since the last invalidation
	freshUntil time.Time
}

// Any sequence of calls, in any order, by any instance, keeps the promises:
// the account covers what is there, everything expires, one leader, and no
// value but the last accepted one.
func TestScripts_anySequence(t *testing.T) {
	t.Parallel()
	const maxBytes, lease, fresh = 6000, time.Second, 5 * time.Second
	c := newClocked(t)
	rapid.Check(t, func(rt *rapid.T) {
		c.FlushAll()
		models := map[Key]*model{}
		serial := 0

		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			key := Key{
				Origin: "shop", Read: rapid.SampledFrom([]string{"/a", "/b"}).Draw(rt, "read"),
				Variant: rapid.SampledFrom([]string{"", "de", "fr"}).Draw(rt, "variant"),
			}
			m := models[key]
			if m == nil {
				m = &model{}
				models[key] = m
			}
			i := newInstance(c.rdb, m.leader)
			i.key, i.p.Lease, i.p.MaxBytes = key, lease, maxBytes
			size := rapid.SampledFrom([]int{0, 10, 900, 5000}).Draw(rt, "size")

			switch rapid.SampledFrom([]string{"join", "join", "settle", "fail", "pass", "renew", "invalidate", "wait"}).Draw(rt, "call") {
			case "join":
				serial++
				i.nonce = fmt.Sprint("leader ", serial)
				switch v := i.join(rt, 0); v.kind {
				case verdictHit:
					if string(v.text) != m.value || !c.now.Before(m.freshUntil) {
						rt.Fatalf("HIT %.20q, want %.20q, fresh until %v, now %v", v.text, m.value, m.freshUntil, c.now)
					}
				case verdictLead:
					if m.leader != "" && c.now.Before(m.leaseEnd) {
						rt.Fatalf("%s leads beside %s", i.nonce, m.leader)
					}
					m.leader, m.leaseEnd = i.nonce, c.now.Add(lease)
				case verdictWait:
					if m.leader == "" || !c.now.Before(m.leaseEnd) {
						rt.Fatalf("WAIT for nobody")
					}
				}
			case "settle":
				value := strconv.Itoa(serial) + string(make([]byte, size))
				answer := i.settle(rt, settlement{kind: kindValue, body: []byte(value), times: Times{Fresh: fresh, IfError: time.Minute}})
				if answer == "OK" {
					if m.leader == "" {
						rt.Fatal("a fill of nobody's was accepted")
					}
					m.value, m.freshUntil = value, c.now.Add(fresh)
				}
				m.leader = ""
			case "fail":
				i.settle(rt, settlement{kind: kindFailed, body: make([]byte, size), mark: time.Second})
				m.leader = ""
			case "pass":
				i.settle(rt, settlement{kind: kindPass, mark: time.Second})
				m.leader = ""
			case "renew":
				if i.renew(rt.Context(), i.key, i.p, i.nonce) {
					m.leaseEnd = c.now.Add(lease)
				}
			case "invalidate":
				i.forget(rt)
				for other, m := range models {
					if other.Read == key.Read {
						*m = model{}
					}
				}
			case "wait":
				c.pass(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
			}
			audit(rt, c, maxBytes)
		}

		// Nothing is left once all lives are over, and an eighth more.
		c.pass(2 * time.Minute)
		if keys := c.Keys(); len(keys) > 0 {
			rt.Fatalf("left over: %v", keys)
		}
	})
}

// audit compares the account with what is there.
func audit(tb tester, c *clocked, maxBytes int) {
	tb.Helper()
	c.dump(tb) // fails when something has no expiry
	budget := Key{Origin: "shop"}.budget()
	number := func(key, field string) int {
		n, err := strconv.Atoi(c.HGet(key, field))
		if err != nil && c.HGet(key, field) != "" {
			tb.Fatalf("%s of %s is no integer: %q", field, key, c.HGet(key, field))
		}
		return n
	}
	there := 0
	epochs := map[string]bool{}
	for _, key := range c.Keys() {
		if key != budget && c.Type(key) == "hash" {
			there += 1024 + len(c.HGet(key, "value")) + len(c.HGet(key, "note"))
			epochs[c.HGet(key, "epoch")] = true
		}
	}
	for _, key := range c.Keys() {
		if c.Type(key) == "string" && !epochs[c.string(tb, key)] {
			tb.Fatalf("%s outlives its entries: nobody pays for it", key)
		}
	}
	charged := 0
	if c.Exists(budget) {
		fields, _ := c.HKeys(budget)
		for _, f := range fields {
			if _, err := strconv.Atoi(f); err == nil {
				if charged += number(budget, f); number(budget, f) < 0 {
					tb.Fatalf("bucket %s holds %d", f, number(budget, f))
				}
			}
		}
	}
	if total := number(budget, "total"); total != charged || total < there || total > maxBytes {
		tb.Fatalf("total %d, in buckets %d, there %d, allowed %d", total, charged, there, maxBytes)
	}
}
