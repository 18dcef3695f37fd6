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
	for _, k := range []Key{{"shop", "/a", "en"}, {"a}b{c", "/a", ""}, {"é %", "}", "{"}} {
		tag := func(name string) string {
			_, rest, _ := strings.Cut(name, "{")
			tag, _, _ := strings.Cut(rest, "}")
			return tag
		}
		for _, name := range []string{k.entry(), k.epoch()} {
			if a, b := tag(name), tag(k.budget()); a != b || a == "" {
				t.Errorf("%+v: hash tags %q and %q of %s and %s", k, a, b, name, k.budget())
			}
			if len(k.Read) > 1 && strings.Contains(name, k.Read) {
				t.Errorf("%s shows what is read", name)
			}
		}
	}
	if (Key{"a", "/", ""}).budget() == (Key{"b", "/", ""}).budget() {
		t.Error("two origins share a budget")
	}
	if (Key{"a", "/", `b"c`}).entry() == (Key{"a", `/"b`, "c"}).entry() {
		t.Error("two reads share an entry")
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
