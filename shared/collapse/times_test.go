package collapse

import (
	"testing"
	"time"
)

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
		c.pass(6 * time.Second) // twice the lease that b had
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
