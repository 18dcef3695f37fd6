package collapse

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestLead_renews(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb)
		entered, release := b.origin.gated()
		leader := b.many(t, 1, func(p *Policy) { p.Lease = 300 * time.Millisecond })
		<-entered
		lease := func() string { return rdb.HGet(t.Context(), b.key.entry(), "lease").Val() }
		granted := lease()
		eventually(t, "the lease grows", func() bool { return lease() > granted })
		release()
		if r := leader()[0]; r.err != nil || !r.Stored {
			t.Errorf("%+v", r)
		}
	})
}

// A leader that learns that its key was invalidated keeps its own callers, but
// no newcomer waits for it.
func TestLead_withdraws(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()
		leader := a.many(t, 1, func(p *Policy) { p.Lease = 300 * time.Millisecond })
		<-entered
		if err := b.Invalidate(t.Context(), b.key); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the flight is withdrawn", func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.flights) == 0
		})
		if r := a.must(t); string(r.Value) != "answer 2" {
			t.Errorf("newcomer: %+v", r)
		}
		release()
		if r := leader()[0]; r.err != nil || string(r.Value) != "answer 1" || r.Detail != DetailLost {
			t.Errorf("leader: %+v", r)
		}
		if r := b.must(t); string(r.Value) != "answer 2" {
			t.Errorf("stored: %+v", r)
		}
	})
}

func TestSettlement(t *testing.T) {
	t.Parallel()
	p := Policy{Times: Times{Fresh: time.Minute}, NegativeTTL: time.Second, PassTTL: time.Hour}
	large := make([]byte, MaxValue+1)
	for name, tc := range map[string]struct {
		answer Answer
		want   settlement
	}{
		"a value": {
			Answer{Value: []byte("v"), Age: time.Second},
			settlement{kind: kindValue, body: []byte("v"), age: 3 * time.Second, times: Times{Fresh: time.Minute}},
		},
		"the answer's times win": {
			Answer{Times: &Times{IfError: time.Hour}},
			settlement{kind: kindValue, age: 2 * time.Second, times: Times{IfError: time.Hour}},
		},
		"a private one":                {Answer{Value: []byte("v"), Private: true}, settlement{kind: kindPass, mark: time.Hour}},
		"a stream":                     {Answer{Stream: &body{}}, settlement{kind: kindPass, mark: time.Hour}},
		"a large one":                  {Answer{Value: large}, settlement{kind: kindLarge, mark: time.Hour}},
		"a large private one":          {Answer{Value: large, Private: true}, settlement{kind: kindPass, mark: time.Hour}},
		"a failure":                    {Answer{Value: []byte("503"), Failed: true}, settlement{kind: kindFailed, body: []byte("503"), mark: time.Second}},
		"a failure that is not shared": {Answer{Failed: true, Private: true}, settlement{kind: kindError, body: []byte("its answer cannot be shared"), mark: time.Second}},
		"a large failure":              {Answer{Failed: true, Value: large}, settlement{kind: kindError, body: []byte("its answer cannot be shared"), mark: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.settlement(tc.answer, nil, 2*time.Second)
			if jitter := tc.want.times.Fresh - got.times.Fresh; jitter < 0 || jitter > tc.want.times.Fresh/10 {
				t.Errorf("fresh for %v, want %v less a tenth at most", got.times.Fresh, tc.want.times.Fresh)
			}
			options := cmp.Options{
				cmp.AllowUnexported(settlement{}), cmpopts.IgnoreFields(settlement{}, "err"), cmpopts.IgnoreFields(Times{}, "Fresh"),
			}
			if diff := cmp.Diff(tc.want, got, options); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	t.Run("jitter spreads the ends of what was stored together", func(t *testing.T) {
		t.Parallel()
		ends := map[time.Duration]bool{}
		for range 100 {
			ends[p.settlement(Answer{}, nil, 0).times.Fresh] = true
		}
		if len(ends) < 50 {
			t.Errorf("%d different lives among 100", len(ends))
		}
	})
}

func TestParseVerdict_refuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []any{
		nil, "HIT", int64(1), []any{}, []any{"HIT"}, []any{int64(1), "x"}, []any{"HIT", int64(1)},
		[]any{"LEAD", "", int64(1), int64(1), int64(1), int64(1), int64(1)},
	} {
		if v, ok := parseVerdict(raw); ok {
			t.Errorf("%v is taken for %v", raw, v)
		}
	}
}
