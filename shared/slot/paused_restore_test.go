package slot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// lasting is a store that can be out of reach, and in which something may happen between two calls.
type lasting struct {
	*marks.Memory
	away error
	// read runs after each read.
	read func()
}

func (l *lasting) Targets(ctx context.Context) ([]string, bool, error) {
	names, known, err := l.Memory.Targets(ctx)
	if l.read != nil {
		l.read()
	}
	return names, known, errors.Join(err, l.away)
}

func (l *lasting) PauseTarget(ctx context.Context, name string, paused bool) error {
	if l.away != nil {
		return l.away
	}
	return l.Memory.PauseTarget(ctx, name, paused)
}

// lostPaused is one instance's paused targets on a Redis of its own, which can be emptied.
type lostPaused struct {
	*slot.PausedTargets
	t    *testing.T
	rdb  redis.Cmdable
	kept *lasting
}

// eachLost runs story on miniredis and on a real Redis.
func eachLost(t *testing.T, story func(*lostPaused)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		story(newLostPaused(t, rdb, &lasting{Memory: marks.NewMemory(time.Now)}))
	})
}

func newLostPaused(t *testing.T, rdb redis.Cmdable, kept *lasting) *lostPaused {
	p := &lostPaused{slot.NewPausedTargets(rdb, time.Now), t, rdb, kept}
	p.Lasting = kept
	return p
}

func (p *lostPaused) set(name string, paused bool) {
	p.t.Helper()
	if err := p.Set(p.t.Context(), name, paused); err != nil {
		p.t.Fatal(err)
	}
}

func (p *lostPaused) restore() {
	p.t.Helper()
	if err := p.Restore(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *lostPaused) lose() {
	p.t.Helper()
	if err := p.rdb.FlushAll(p.t.Context()).Err(); err != nil {
		p.t.Fatal(err)
	}
}

// want compares what this instance knows, and what one that begins now would.
func (p *lostPaused) want(what string, names ...string) {
	p.t.Helper()
	for _, targets := range []*slot.PausedTargets{p.PausedTargets, slot.NewPausedTargets(p.rdb, time.Now)} {
		got, err := targets.List(p.t.Context())
		if diff := cmp.Diff(append([]string{}, names...), append([]string{}, got...)); err != nil || diff != "" {
			p.t.Errorf("%s: %v; paused (-want +got):\n%s", what, err, diff)
		}
	}
}

func TestPausedTargetsOutliveRedis(t *testing.T) {
	t.Parallel()
	eachLost(t, func(p *lostPaused) {
		p.restore() // nothing is known
		p.set("shop", true)
		p.set("billing", true)
		p.set("mail", true)
		p.set("mail", false)
		p.lose()
		p.restore()
		p.want("after the loss", "billing", "shop")
		if life := p.rdb.PTTL(p.t.Context(), "seriatim-targets:{paused}").Val(); life <= 0 {
			p.t.Errorf("the set lives %v, want an end", life)
		}
		p.restore()
		p.want("restored twice", "billing", "shop")
		p.set("shop", false)
		p.set("billing", false)
		p.lose()
		p.restore()
		p.want("none is paused any more")
	})
}

func TestPausedTargetsThatTheStoreDoesNotKnowStay(t *testing.T) {
	t.Parallel()
	eachLost(t, func(p *lostPaused) {
		p.Lasting = nil // as the version before
		p.set("shop", true)
		p.restore()
		p.Lasting = p.kept
		p.restore()
		p.want("paused by a version without a store", "shop")
	})
}

func TestPausedTargetsWithTheStoreOutOfReach(t *testing.T) {
	t.Parallel()
	eachLost(t, func(p *lostPaused) {
		p.set("billing", true)
		p.kept.away = errors.New("out of reach")
		if err := p.Set(p.t.Context(), "shop", true); !errors.Is(err, p.kept.away) {
			p.t.Errorf("pause: %v, want to be told", err)
		}
		p.want("it is paused nevertheless", "billing", "shop")
		if err := p.Set(p.t.Context(), "billing", false); !errors.Is(err, p.kept.away) {
			p.t.Errorf("resume: %v, want to be told", err)
		}
		p.want("what cannot be resumed for good stays paused", "billing", "shop")
		if err := p.Restore(p.t.Context()); !errors.Is(err, p.kept.away) {
			p.t.Errorf("restore: %v, want to be told", err)
		}
		p.want("nothing is restored", "billing", "shop")
	})
}

func TestPausedTargetsThatChangeWhileTheyAreRestored(t *testing.T) {
	t.Parallel()
	eachLost(t, func(p *lostPaused) {
		p.set("shop", true)
		p.set("billing", true)
		p.lose()
		other := newLostPaused(p.t, p.rdb, &lasting{Memory: p.kept.Memory})
		reads := 0
		p.kept.read = func() {
			switch reads++; reads {
			case 1:
				other.set("shop", false)
			case 2:
				other.set("mail", true)
				other.restore()
			}
		}
		p.restore()
		p.want("as the operator left it", "billing", "mail")

		turns := false
		p.kept.read = func() {
			turns = !turns
			other.set("shop", turns)
		}
		if err := p.Restore(p.t.Context()); err == nil {
			p.t.Error("restored while they changed with every look")
		}
	})
}
