package collapse

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

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
		for _, key := range []string{i.key.entry(), i.key.epoch()} {
			sizes[size] += rdb.MemoryUsage(t.Context(), key, 0).Val()
		}
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
				i.key.Read, i.p.MaxBytes, i.p.Lease = read, 5000, time.Second
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
