package collapse

import (
	"testing"
	"time"
)

// A look-up whose reply was lost is sent again after the epoch that it began
// was ended: what others stored in that epoch stays forgotten.
func TestEpoch_isNotBroughtBack(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := newInstance(c.rdb, "a"), newInstance(c.rdb, "b")
	b.key.Variant = "de"
	expect(t, "a begins the epoch", a.join(t, 0), "LEAD")
	expect(t, "b", b.join(t, 0), "LEAD")
	expect(t, "b's fill", b.fill(t, "old"), "OK")
	c.pass(time.Millisecond)
	a.forget(t)
	expect(t, "a, sent again", a.join(t, 0), "LEAD")
	expect(t, "reader of b's", b.join(t, 0), "LEAD")
}

// An epoch lasts as long as the longest of its entries, and no longer: nobody
// would pay for it.
func TestEpoch_lastsAsLongAsItsEntries(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := newInstance(c.rdb, "a"), newInstance(c.rdb, "b")
	b.key.Variant = "de"
	long := settlement{kind: kindValue, body: []byte("v"), times: Times{Fresh: time.Minute, IfError: time.Hour}}
	expect(t, "a", a.join(t, 0), "LEAD")
	a.settle(t, long)
	expect(t, "b", b.join(t, 0), "LEAD")
	b.settle(t, settlement{kind: kindError, mark: time.Second})
	c.pass(30 * time.Second)
	expect(t, "a's answer, past the end of b's", a.join(t, 0), "HIT v")

	// What replaces the answer lives shorter; the entry stays, and pays.
	c.pass(time.Minute)
	expect(t, "a, stale", a.join(t, 0), "LEAD v")
	a.settle(t, settlement{kind: kindPass, mark: time.Second})
	c.pass(time.Minute)
	audit(t, c, int(a.p.MaxBytes))
	if entry, epoch := c.TTL(a.key.entry()), c.TTL(a.key.epoch()); entry != epoch || entry <= 0 {
		t.Errorf("the entry expires in %v, its epoch in %v", entry, epoch)
	}
}
