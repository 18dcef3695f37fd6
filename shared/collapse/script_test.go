package collapse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, k := range []Key{{"shop", "/a"}, {"a}b{c", "/a"}, {"é %", "}"}} {
		tag := func(name string) string {
			_, rest, _ := strings.Cut(name, "{")
			tag, _, _ := strings.Cut(rest, "}")
			return tag
		}
		if a, b := tag(k.entry()), tag(k.budget()); a != b || a == "" {
			t.Errorf("%+v: hash tags %q and %q of %s and %s", k, a, b, k.entry(), k.budget())
		}
		if len(k.Read) > 1 && strings.Contains(k.entry(), k.Read) {
			t.Errorf("%s shows what is read", k.entry())
		}
	}
	if (Key{"a", "/"}).budget() == (Key{"b", "/"}).budget() {
		t.Error("two origins share a budget")
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (c *clocked, a, b, other *instance) {
		c = newClocked(t)
		return c, newInstance(c.rdb, "a"), newInstance(c.rdb, "b"), newInstance(c.rdb, "c")
	}

	t.Run("an old slow fill does not overwrite a newer one", func(t *testing.T) {
		t.Parallel()
		c, a, b, other := setup(t)
		expect(t, "a", a.join(t, 0), "LEAD")
		c.pass(3 * time.Second)
		expect(t, "b after a's lease", b.join(t, 0), "LEAD")
		expect(t, "a's fill while b leads", a.fill(t, "old"), "LOST")
		expect(t, "b's fill", b.fill(t, "new"), "OK")
		expect(t, "a's fill after b's", a.fill(t, "old"), "LOST")
		expect(t, "reader", other.join(t, 0), "HIT new")
	})

	t.Run("a late fill that nobody overtook counts", func(t *testing.T) {
		t.Parallel()
		c, a, _, other := setup(t)
		expect(t, "a", a.join(t, 0), "LEAD")
		c.pass(4 * time.Second)
		expect(t, "a's fill", a.fill(t, "late"), "OK")
		expect(t, "reader", other.join(t, 0), "HIT late")
	})

	t.Run("a renewed lease has no successor", func(t *testing.T) {
		t.Parallel()
		c, a, b, _ := setup(t)
		expect(t, "a", a.join(t, 0), "LEAD")
		for range 10 {
			c.pass(2 * time.Second)
			if !a.renew(t.Context(), a.key, a.p, a.nonce) {
				t.Fatal("a lost its lease")
			}
			expect(t, "b", b.join(t, 0), "WAIT")
		}
		c.pass(3 * time.Second)
		expect(t, "b once a has stopped", b.join(t, 0), "LEAD")
		if a.renew(t.Context(), a.key, a.p, a.nonce) {
			t.Error("a renewed b's lease")
		}
	})

	t.Run("an invalidation beats the fill under way", func(t *testing.T) {
		t.Parallel()
		_, a, b, other := setup(t)
		expect(t, "a", a.join(t, 0), "LEAD")
		b.forget(t)
		if a.renew(t.Context(), a.key, a.p, a.nonce) {
			t.Error("a renewed a lease that was invalidated")
		}
		expect(t, "b does not wait for a", b.join(t, 0), "LEAD")
		expect(t, "a's fill", a.fill(t, "old"), "LOST")
		expect(t, "b's fill", b.fill(t, "new"), "OK")
		expect(t, "reader", other.join(t, 0), "HIT new")
	})

	t.Run("a leader that gives up is followed at once", func(t *testing.T) {
		t.Parallel()
		_, a, b, other := setup(t)
		expect(t, "a", a.join(t, 0), "LEAD")
		waited := b.join(t, 0)
		expect(t, "b", waited, "WAIT")
		a.settle(t, settlement{kind: kindNone})
		expect(t, "b", b.join(t, waited.began()), "LEAD")
		expect(t, "c", other.join(t, 0), "WAIT")
	})

	t.Run("followers get what they waited for, however short its life", func(t *testing.T) {
		t.Parallel()
		for _, x := range []settlement{
			{kind: kindValue, body: []byte("v"), times: Times{Fresh: time.Millisecond}, age: time.Second},
			{kind: kindValue, body: []byte("v")},
			{kind: kindError, body: []byte("v")},
			{kind: kindFailed, body: []byte("v")},
			{kind: kindPass},
			{kind: kindLarge},
		} {
			c, a, b, other := setup(t)
			expect(t, "a", a.join(t, 0), "LEAD")
			waited := b.join(t, 0)
			expect(t, "b", waited, "WAIT")
			c.pass(time.Second)
			a.settle(t, x)
			c.pass(time.Second) // b only polls
			want := map[string]string{"value": "HIT v", "error": "ERROR v", "failed": "FAILED v", "pass": "PASS", "large": "LOCAL large"}
			expect(t, "b", b.join(t, waited.began()), want[x.kind])
			if v := other.join(t, 0); v.kind != verdictLead {
				t.Errorf("%s without a life answers a newcomer: %v", x.kind, v)
			}
		}
	})
}

func TestLease_oneSuccessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		redisNow := func() time.Time { return rdb.Time(t.Context()).Val() }
		dead := newInstance(rdb, "dead")
		dead.p.Lease = 20 * time.Millisecond
		expect(t, "the leader that will die", dead.join(t, 0), "LEAD")
		died := redisNow()
		eventually(t, "the lease lapses", func() bool { return redisNow().Sub(died) > dead.p.Lease })

		verdicts := make(chan string, 100)
		for i := range cap(verdicts) {
			go func() {
				heir := newInstance(rdb, fmt.Sprint("heir ", i))
				heir.p.Lease = time.Minute
				verdicts <- heir.join(t, 0).String()
			}()
		}
		count := map[string]int{}
		for range cap(verdicts) {
			count[<-verdicts]++
		}
		if diff := cmp.Diff(map[string]int{"LEAD": 1, "WAIT": 99}, count); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	})
}

func TestTimes(t *testing.T) {
	t.Parallel()
	times := Times{Fresh: 10 * time.Second, WhileRevalidate: 20 * time.Second, IfError: 30 * time.Second, Keep: 40 * time.Second}
	setup := func(t *testing.T, passed time.Duration) (c *clocked, a, b *instance) {
		c = newClocked(t)
		a, b = newInstance(c.rdb, "a"), newInstance(c.rdb, "b")
		expect(t, "a", a.join(t, 0), "LEAD")
		a.settle(t, settlement{kind: kindValue, body: []byte("v"), times: times, age: time.Second})
		c.pass(passed)
		return c, a, b
	}

	t.Run("fresh counts from before the fetch", func(t *testing.T) {
		t.Parallel()
		_, _, b := setup(t, 9*time.Second-time.Millisecond)
		v := b.join(t, 0)
		expect(t, "b", v, "HIT v")
		if v.ttl() != time.Millisecond || v.age() != 10*time.Second-time.Millisecond {
			t.Errorf("ttl %v, age %v", v.ttl(), v.age())
		}
	})
	t.Run("the first stale reader leads, the others get the stale value", func(t *testing.T) {
		t.Parallel()
		_, a, b := setup(t, 9*time.Second)
		v := b.join(t, 0)
		expect(t, "b", v, "LEAD v")
		if v.whileRevalidate() != 20*time.Second || v.ifError() != 30*time.Second {
			t.Errorf("may be served %v, on failure %v", v.whileRevalidate(), v.ifError())
		}
		expect(t, "a", a.join(t, 0), "STALE v")
	})
	t.Run("past stale-while-revalidate the others wait", func(t *testing.T) {
		t.Parallel()
		_, a, b := setup(t, 29*time.Second)
		expect(t, "b", b.join(t, 0), "LEAD v")
		expect(t, "a", a.join(t, 0), "WAIT")
	})
	t.Run("a failure is hidden by the stale value, up to stale-if-error", func(t *testing.T) {
		t.Parallel()
		c, a, b := setup(t, 39*time.Second-time.Millisecond)
		expect(t, "b", b.join(t, 0), "LEAD v")
		b.settle(t, settlement{kind: kindError, body: []byte("refused"), mark: time.Second})
		expect(t, "a", a.join(t, 0), "STALE v")
		c.pass(time.Millisecond)
		expect(t, "a a moment later", a.join(t, 0), "ERROR refused")
		c.pass(999 * time.Millisecond)
		expect(t, "a after the negative TTL", a.join(t, 0), "LEAD v")
	})
	t.Run("a value that is only kept is handed to the leader", func(t *testing.T) {
		t.Parallel()
		c, _, b := setup(t, 49*time.Second-time.Millisecond)
		v := b.join(t, 0)
		expect(t, "b", v, "LEAD v")
		if v.whileRevalidate() != 0 || v.ifError() != 0 {
			t.Errorf("may be served %v, on failure %v", v.whileRevalidate(), v.ifError())
		}
		b.settle(t, settlement{kind: kindNone})
		c.pass(2001 * time.Millisecond)
		expect(t, "b past all lives", b.join(t, 0), "LEAD")
	})
}

func TestStamp(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	before, after := newInstance(c.rdb, "before"), newInstance(c.rdb, "after")
	before.p.Stamp, after.p.Stamp = "7", "8"

	// While the fetch of one stamp is under way, the other fetches for itself.
	expect(t, "first", before.join(t, 0), "LEAD")
	expect(t, "other stamp", after.join(t, 0), "LOCAL stamp")
	expect(t, "fill", before.fill(t, "old"), "OK")

	// A value of another stamp is no answer, but one to revalidate.
	v := after.join(t, 0)
	expect(t, "other stamp", v, "LEAD old")
	if v.whileRevalidate() != 0 || v.ifError() != 0 {
		t.Error("a value of another stamp may be served")
	}
	expect(t, "the stamp that is still stored", before.join(t, 0), "HIT old")
	expect(t, "fill", after.fill(t, "new"), "OK")
	expect(t, "reader", after.join(t, 0), "HIT new")
	expect(t, "reader of the old stamp", before.join(t, 0), "LEAD new")
}

// Every script, sent twice with the same arguments, leaves the same state and
// answers the same.
func TestScripts_sentAgain(t *testing.T) {
	t.Parallel()
	value := settlement{kind: kindValue, body: []byte("v"), times: Times{Fresh: time.Second, IfError: time.Minute}}
	joins := func(tb testing.TB, i *instance) string { return i.join(tb, 0).String() }
	settles := func(x settlement) func(testing.TB, *instance) string {
		return func(tb testing.TB, i *instance) string { return i.settle(tb, x) }
	}
	full := func(tb testing.TB, i *instance) string {
		i.p.MaxBytes = 1100
		return i.settle(tb, settlement{kind: kindValue, body: make([]byte, 100)})
	}
	renews := func(tb testing.TB, i *instance) string {
		return fmt.Sprint(i.renew(tb.Context(), i.key, i.p, i.nonce))
	}
	forgets := func(tb testing.TB, i *instance) string { i.forget(tb); return "" }

	for name, steps := range map[string][]func(testing.TB, *instance) string{
		"a value":            {joins, renews, settles(value), joins},
		"a failure":          {joins, settles(value), nil, joins, settles(settlement{kind: kindFailed, body: []byte("503"), mark: time.Second}), joins},
		"an error":           {joins, settles(settlement{kind: kindError, body: []byte("no"), mark: time.Second}), joins},
		"a pass":             {joins, settles(value), nil, joins, settles(settlement{kind: kindPass, mark: time.Second}), joins},
		"a leader giving up": {joins, settles(settlement{kind: kindNone}), nil, joins},
		"no room":            {joins, full, joins},
		"an invalidation":    {joins, settles(value), forgets, joins, forgets, settles(value), renews},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClocked(t)
			i := newInstance(c.rdb, "1")
			for n, step := range steps {
				if step == nil { // time passes, a new leader comes
					c.pass(2 * time.Second)
					i.nonce += "'"
					continue
				}
				answer, state := step(t, i), c.dump(t)
				expect(t, fmt.Sprintf("step %d, sent again", n), step(t, i), answer)
				if diff := cmp.Diff(state, c.dump(t)); diff != "" {
					t.Fatalf("step %d, sent again, changed (-once +twice):\n%s", n, diff)
				}
			}
		})
	}
}
