package generation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// reserve asks for a place, and to run at once, on a lane that has all of Redis for itself.
func (p *process) reserve(id string) (slot.Reservation, error) {
	p.t.Helper()
	lane := slot.Lane{Key: p.t.Name(), Policy: "test", Concurrency: 1, Burst: 1, MaxDepth: 10, Lease: lease, Retention: time.Hour}
	return slot.New(p.rdb, p, nil).Reserve(p.ctx(), lane, slot.ReserveRequest{ID: id, Owner: id, Immediate: true, Submitted: time.Now()})
}

// runs fails unless the request may run at once, or unless it may not: in a quarantine.
func (p *process) runs(id string, want slot.Verdict) {
	p.t.Helper()
	r, err := p.reserve(id)
	if err != nil || r.Verdict != want {
		p.t.Errorf("%s: %s, %v; want %s", id, r.Verdict, err, want)
	}
}

// began fails unless the lane is of generation g.
func (p *process) began(rdb *redis.Client, g slot.Generation) {
	p.t.Helper()
	if n, err := rdb.HGet(p.t.Context(), slot.KeysOf(p.t.Name()).State(), "gen").Int64(); err != nil || n != g.Number {
		p.t.Errorf("the lane is of generation %d, %v; want %d", n, err, g.Number)
	}
}

// The arguments of a script are put together before it has a connection, and here that connection finds an emptied Redis.
func TestAScriptCarriesTheGenerationOfTheConnectionItIsWrittenTo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := start(t, s.Addr(), yes)
	p.runs("first", slot.Run)
	before := p.now()
	p.began(s.Client(), before)
	for range 3 {
		s.Kill()
		s.Restart()
		p.runs("second", slot.Reserved)
		after := p.now()
		lost(t, before, after)
		p.began(s.Client(), after)
		before = after
	}
}

func TestALaneThatBeganInAFlushedRedisIsNotBelieved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, yes)
		p.runs("first", slot.Run)
		before := p.now()
		ok(t, rdb.FlushAll(t.Context()).Err())
		if r, err := p.reserve("second"); !errors.Is(err, slot.ErrLost) {
			t.Errorf("%s, %v; want slot.ErrLost", r.Verdict, err)
		}
		after := p.now()
		lost(t, before, after)
		if r, err := p.reserve("third"); err != nil || r.Verdict == slot.Run {
			t.Errorf("%s, %v; want nothing to run", r.Verdict, err)
		}
		p.began(rdb, after)
	})
}

// The resend finds the loss out, as it goes by another connection, and finds the lane that the first call began.
func TestAGrantOfAFlushedRedisIsNotToldAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, yes)
		p.runs("first", slot.Run)
		before := p.now()
		ok(t, rdb.FlushAll(t.Context()).Err())
		p.cut.Store("evalsha")
		p.runs("second", slot.Reserved)
		if p.cut.Load() != "" {
			t.Error("no reply was lost")
		}
		after := p.now()
		lost(t, before, after)
		p.began(rdb, after)
	})
}
