package collapse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// model is what the scripts must do with one key, in plain Go.
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
		models := map[string]*model{}
		serial := 0

		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			read := rapid.SampledFrom([]string{"/a", "/b", "/c", "/d", "/e"}).Draw(rt, "read")
			m := models[read]
			if m == nil {
				m = &model{}
				models[read] = m
			}
			i := newInstance(c.rdb, m.leader)
			i.key.Read, i.p.Lease, i.p.MaxBytes = read, lease, maxBytes
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
				*m = model{}
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
	for _, key := range c.Keys() {
		if key != budget {
			there += 1024 + len(c.HGet(key, "value")) + len(c.HGet(key, "note"))
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

// To show 10: distinct reads without end cost the origin's budget and nothing
// else, on a Redis that has room for little more.
func TestBudget_distinctReads(t *testing.T) {
	t.Parallel()
	const maxBytes, reads = 1 << 20, 5000
	rdb := redistest.Start(t).Client()
	ctx := t.Context()
	lane := "seriatim:{tenant-42}:s"
	if err := rdb.HSet(ctx, lane, "nxt", 7).Err(); err != nil {
		t.Fatal(err)
	}

	b := setup(t, rdb)
	details := map[string]int{}
	for n := range reads {
		b.key.Read = fmt.Sprint("/search?q=", n)
		r := b.must(t, func(p *Policy) { p.MaxBytes = maxBytes })
		if want := fmt.Sprint("answer ", n+1); string(r.Value) != want {
			t.Fatalf("read %d: %q, want %q", n, r.Value, want)
		}
		details[r.Detail]++
	}
	if details[DetailFull] == 0 || details[""] == 0 || details[""]+details[DetailFull] != reads {
		t.Errorf("details: %v, want some stored, the rest full", details)
	}

	var used int64
	var foreign []string
	for _, key := range rdb.Keys(ctx, "*").Val() {
		if key == lane {
			continue
		}
		if ttl := rdb.PTTL(ctx, key).Val(); ttl <= 0 {
			t.Errorf("%s has no expiry", key)
		}
		if !slices.Contains([]string{b.key.budget()}, key) && key[:len(prefix("shop"))] != prefix("shop") {
			foreign = append(foreign, key)
		}
		used += rdb.MemoryUsage(ctx, key, 0).Val()
	}
	if len(foreign) > 0 {
		t.Errorf("keys of others: %v", foreign)
	}
	if used > maxBytes*4/3 {
		t.Errorf("the origin takes %d bytes, allowed %d and a third", used, maxBytes)
	}
	if diff := cmp.Diff(map[string]string{"nxt": "7"}, rdb.HGetAll(ctx, lane).Val()); diff != "" {
		t.Errorf("the lane was touched (-want +got):\n%s", diff)
	}

	// A stored read is still answered, and another origin has its own budget.
	b.key.Read = "/search?q=0"
	if r := b.must(t); r.Outcome != Hit {
		t.Errorf("a stored read: %+v", r)
	}
	b.key = Key{Origin: "stock", Read: "/"}
	if r := b.must(t); !r.Stored {
		t.Errorf("another origin: %+v", r)
	}
}

// The account's 1024 bytes for each entry cover what Redis needs beside the
// value, and a third covers the rounding of its allocator.
func TestBudget_realMemory(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	sizes := map[int]int64{}
	for _, size := range []int{0, 1, 100, 1000, 1025, 10_000, 10_241, 100_000, 114_689, 1 << 20} {
		i := newInstance(rdb, "nonce of the usual 26 letters")
		i.key.Read, i.p.Stamp = fmt.Sprint(size), "1796119200007:123456"
		expect(t, "join", i.join(t, 0), "LEAD")
		i.settle(t, settlement{kind: kindValue, body: make([]byte, size), times: Times{Fresh: time.Minute, IfError: time.Hour}})
		sizes[size] = rdb.MemoryUsage(t.Context(), i.key.entry(), 0).Val()
	}
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		charged := int64(size + 1024)
		t.Logf("value of %7d bytes: charged %7d, takes %7d", size, charged, sizes[size])
		if sizes[size] > charged*4/3 {
			t.Errorf("value of %d bytes takes %d, charged %d", size, sizes[size], charged)
		}
	}
}

// What has expired makes room again, at most an eighth of its life late.
func TestBudget_frees(t *testing.T) {
	t.Parallel()
	for _, life := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute, 59 * time.Minute, MaxLife} {
		t.Run(life.String(), func(t *testing.T) {
			t.Parallel()
			c := newClocked(t)
			store := func(read string) string {
				i := newInstance(c.rdb, read)
				i.key.Read, i.p.MaxBytes = read, 5000
				if v := i.join(t, 0); v.kind != verdictLead {
					return v.String()
				}
				return i.settle(t, settlement{kind: kindValue, body: make([]byte, 2000), times: Times{Fresh: life}})
			}
			expect(t, "first", store("a"), "OK")
			expect(t, "second", store("b"), "FULL")
			c.pass(life - time.Millisecond)
			expect(t, "while the first lives", store("c"), "FULL")
			c.pass(life/8 + 3*time.Second) // the marks of the others, too
			expect(t, "third", store("d"), "OK")
			expect(t, "fourth", store("e"), "FULL")
		})
	}
}
