package generation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	. "github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func TestNothingIsKnownBeforeAConnection(t *testing.T) {
	t.Parallel()
	p := start(t, "127.0.0.1:1", yes)
	if g, err := p.Current(); !errors.Is(err, ErrUnknown) || !redisconn.IsUnreachable(err) {
		t.Errorf("%+v, %v; want ErrUnknown, which is a Redis out of reach", g, err)
	}
	if err := p.Refresh(p.ctx()); !redisconn.IsUnreachable(err) {
		t.Errorf("Refresh: %v; want a Redis out of reach", err)
	}
}

func TestTheFirstLifeOfADeployment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first func(context.Context) (bool, error)
		check func(*testing.T, slot.Generation)
	}{
		{"has no quarantine", yes, settled},
		{"is none where another was before: Redis was emptied", no, func(t *testing.T, g slot.Generation) { lost(t, slot.Generation{}, g) }},
		{"cannot be told without Firestore: Redis counts as emptied", away, func(t *testing.T, g slot.Generation) { lost(t, slot.Generation{}, g) }},
		{
			"cannot be told in time", func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, ctx.Err() },
			func(t *testing.T, g slot.Generation) { lost(t, slot.Generation{}, g) },
		},
		{"has a quarantine where nobody can say, and nothing to restore from", nil, func(t *testing.T, g slot.Generation) {
			if g.QuarantineUntil != g.Number/1000+quarantine || g.RestoreUntil != 0 {
				t.Errorf("%+v, want a quarantine of %d ms since its number, and no more", g, quarantine)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				p := start(t, rdb.Options().Addr, tt.first)
				g := p.connect()
				tt.check(t, g)
				if n := p.asked.Load(); tt.first != nil && n != 1 {
					t.Errorf("asked %d times, want once", n)
				}
				other := start(t, rdb.Options().Addr, no)
				same(t, g, other.connect())
				same(t, g, other.refresh())
				if n := other.asked.Load(); n != 0 {
					t.Errorf("a process that finds the marker asks %d times", n)
				}
			})
		})
	}
}

func TestARestartedEmptyRedisIsNoticedByTheNextConnection(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := start(t, s.Addr(), yes)
	before := p.connect()
	s.Kill()
	s.Restart()
	after := p.connect()
	lost(t, before, after)
	if p.asked.Load() != 1 {
		t.Error("a process that has seen a generation asks whether this is the first")
	}
	same(t, after, start(t, s.Addr(), yes).connect())
	if lines := p.log.warned(); len(lines) != 1 || !strings.Contains(lines[0], "cause=absent") {
		t.Errorf("warnings %q, want one", lines)
	}
}

func TestAFailoverIsNoticedByTheNextConnection(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	replica := b.Client()
	follow(t, replica, a)
	p, idle := start(t, a.Addr(), yes), start(t, a.Addr(), yes)
	before := p.connect()
	same(t, before, idle.connect())
	ok(t, a.Client().Do(t.Context(), "WAIT", 1, 0).Err())
	a.Kill()
	promote(t, replica)
	p.addr.Store(b.Addr())
	idle.addr.Store(b.Addr())
	after := p.connect()
	lost(t, before, after)
	same(t, after, idle.connect())
	for _, p := range []*process{p, idle} {
		if lines := p.log.warned(); len(lines) != 1 || !strings.Contains(lines[0], `cause="another server"`) {
			t.Errorf("warnings %q, want one", lines)
		}
	}
}

func TestTheSameServerDemotedAndPromotedIsNoticedUnderLivingConnections(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	first, second := a.Client(), b.Client()
	follow(t, second, a)
	p := start(t, a.Addr(), yes)
	before := p.connect()
	ok(t, first.Do(t.Context(), "WAIT", 1, 0).Err())
	promote(t, second)
	follow(t, first, b)
	if err := p.Refresh(p.ctx()); !redisconn.IsUnreachable(err) {
		t.Errorf("while it is a replica: %v, want a Redis out of reach", err)
	}
	same(t, before, p.now())
	promote(t, first)
	lost(t, before, p.check())
}

func TestAReplicaIsRefused(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	follow(t, b.Client(), a)
	p := start(t, b.Addr(), yes)
	err := p.rdb.Ping(p.ctx()).Err()
	if !errors.Is(err, redisconn.ErrReplica) || !redisconn.IsUnreachable(err) {
		t.Errorf("%v, want ErrReplica, which is a Redis out of reach", err)
	}
	if n := a.Client().Exists(t.Context(), Key).Val(); n != 0 {
		t.Error("it has made a generation")
	}
}

func TestFlushedUnderLivingConnections(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, yes)
		before := p.connect()
		same(t, before, p.check())
		ok(t, p.Verify(p.ctx(), before.Number))

		// Check notices, once it is due.
		ok(t, rdb.FlushAll(t.Context()).Err(), p.Check(p.ctx()))
		same(t, before, p.now())
		second := p.check()
		lost(t, before, second)

		// Verify notices at once.
		ok(t, rdb.FlushAll(t.Context()).Err())
		if err := p.Verify(p.ctx(), second.Number); !errors.Is(err, slot.ErrLost) {
			t.Errorf("Verify: %v, want slot.ErrLost", err)
		}
		third := p.now()
		lost(t, second, third)
		ok(t, p.Verify(p.ctx(), third.Number))

		// Also when the process has noticed since the script ran.
		if err := p.Verify(p.ctx(), second.Number); !errors.Is(err, slot.ErrLost) {
			t.Errorf("Verify of the generation before: %v, want slot.ErrLost", err)
		}
		same(t, third, p.now())
	})
}

func TestAMarkerThatWasRolledBackIsOvertaken(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		p := start(t, rdb.Options().Addr, yes)
		p.connect()
		old := rdb.Get(ctx, Key).Val()
		ok(t, rdb.FlushAll(ctx).Err())
		before := p.check()
		ok(t, rdb.Set(ctx, Key, old, time.Hour).Err())
		late := start(t, rdb.Options().Addr, yes)
		late.connect() // has no way to know
		after := p.check()
		lost(t, before, after)
		same(t, after, late.check())
		if lines := late.log.warned(); len(lines) != 1 || !strings.Contains(lines[0], `cause="rolled back"`) {
			t.Errorf("warnings %q, want one", lines)
		}
	})
}

func TestTheMarkerSaysWhenRedisWasFoundEmptyLast(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		p := start(t, rdb.Options().Addr, yes)
		if first := p.connect(); first.Emptied != 0 {
			t.Errorf("%+v in the first life, want 0", first)
		}
		ok(t, rdb.FlushAll(ctx).Err())
		found := p.check()
		if found.Emptied != found.Number {
			t.Errorf("%+v, want its own number", found)
		}
		// of is the generation after a failover, which brings that many fields of the marker along.
		of := func(fields int) slot.Generation {
			foreign(t, rdb, fields, redis.KeepTTL)
			return p.refresh()
		}
		if after := of(7); after.Emptied != found.Number {
			t.Errorf("%+v after a failover, want %d still", after, found.Number)
		}
		if after := of(6); after.Emptied != 0 {
			t.Errorf("%+v after a marker of older code, want 0", after)
		}
	})
}

// A snapshot that is loaded brings lanes of old, whose requests were done since.
func TestAMarkerThatNobodyHasTouchedForLongCameWithASnapshot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first func(context.Context) (bool, error) // nil: nothing outlives Redis
		age   time.Duration
		stale bool
	}{
		{"a moment is a failover", yes, time.Minute, false},
		{"minutes are a snapshot", yes, 4 * time.Minute, true},
		{"an hour is one", yes, time.Hour, true},
		{"but nothing is given up that cannot be restored", nil, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				p := start(t, rdb.Options().Addr, tt.first)
				before := p.connect()
				foreign(t, rdb, 7, rdb.PTTL(t.Context(), Key).Val()-tt.age)
				after := p.refresh()
				if after.Number <= before.Number || (after.Emptied == after.Number) != tt.stale {
					t.Errorf("generation %+v after %+v, want a new one that counts as emptied: %t", after, before, tt.stale)
				}
			})
		})
	}
}

func TestAMarkerInUseIsTouched(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		p := start(t, rdb.Options().Addr, yes)
		p.connect()
		whole := rdb.PTTL(ctx, Key).Val()
		ok(t, rdb.PExpire(ctx, Key, whole-time.Minute).Err())
		p.check()
		if now := rdb.PTTL(ctx, Key).Val(); now < whole-time.Minute/2 {
			t.Errorf("it lives for %s, want %s again", now, whole)
		}
	})
}

func TestRacingProcessesAgree(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		var crowd []*process
		for range 8 {
			crowd = append(crowd, start(t, rdb.Options().Addr, no))
		}
		var before slot.Generation
		for range 5 {
			var all sync.WaitGroup
			for _, p := range crowd {
				all.Go(func() { _ = p.Refresh(p.ctx()) })
			}
			all.Wait()
			after := crowd[0].now()
			lost(t, before, after)
			for _, p := range crowd {
				same(t, after, p.now())
			}
			before = after
			ok(t, rdb.FlushAll(t.Context()).Err())
		}
	})
}

func TestALostReplyOfTheChangeChangesOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, no)
		before := p.connect() // the script is loaded
		ok(t, rdb.FlushAll(t.Context()).Err())
		p.cut.Store("evalsha")
		for err := p.Refresh(p.ctx()); err != nil; err = p.Refresh(p.ctx()) {
			if !redisconn.IsUnreachable(err) {
				t.Fatal(err)
			}
		}
		if p.cut.Load() != "" {
			t.Fatal("no reply was lost")
		}
		after := p.now()
		lost(t, before, after)
		if text := rdb.Get(t.Context(), Key).Val(); strings.Split(text, "|")[5] != "0" { // the number before, of which there was none
			t.Errorf("%s after %+v: the change was made twice", text, before)
		}
		if lines := p.log.warned(); len(lines) != 2 { // also for the first life, which was none
			t.Errorf("warnings %q, want two", lines)
		}
	})
}

// What was seen of one server never becomes the marker of another: the simulation counts on it.
func TestARefreshStaysWithItsServer(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	p := start(t, a.Addr(), yes)
	before := p.connect()
	ok(t, a.Client().FlushAll(t.Context()).Err())
	p.addr.Store(b.Addr())
	p.cut.Store("evalsha")
	if err := p.Refresh(p.ctx()); err == nil {
		t.Error("no error of a connection that broke")
	}
	if n := b.Client().Exists(t.Context(), Key).Val(); n != 0 || p.cut.Load() != "" {
		t.Errorf("the next server has a marker (%d), or the change was never sent (%q)", n, p.cut.Load())
	}
	same(t, before, p.now())
	lost(t, before, p.connect())
}

func TestTheMarkerOutlivesEveryLane(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, yes)
		before := p.connect()
		for range 2 {
			if life := rdb.PTTL(t.Context(), Key).Val(); life < restoring*time.Millisecond {
				t.Errorf("the marker lives for %v", life)
			}
			ok(t, rdb.PExpire(t.Context(), Key, time.Hour).Err())
			same(t, before, p.refresh())
		}
	})
}

func TestAForeignMarkerIsNotOverwritten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		for _, text := range []string{"", "1|2", "a|b|c|d|e|f"} {
			ok(t, rdb.Set(t.Context(), Key, text, time.Hour).Err())
			p := start(t, rdb.Options().Addr, yes)
			if err := p.rdb.Ping(p.ctx()).Err(); !errors.Is(err, ErrMarker) {
				t.Errorf("%q: %v, want ErrMarker", text, err)
			}
		}
	})
}

func TestASubscriptionLearnsTheGeneration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		p := start(t, rdb.Options().Addr, yes)
		sub := p.rdb.Subscribe(t.Context(), "channel")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		settled(t, p.now())
	})
}

func TestInstall(t *testing.T) {
	t.Parallel()
	t.Run("begins a generation without quarantine, once", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			ok(t, Install(t.Context(), rdb, nil))
			p := start(t, rdb.Options().Addr, no)
			g := p.connect()
			settled(t, g)
			ok(t, Install(t.Context(), rdb, nil))
			same(t, g, p.refresh())
		})
	})
	t.Run("has lanes restored where there was a life before", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			ok(t, Install(t.Context(), rdb, no))
			if g := start(t, rdb.Options().Addr, no).connect(); g.QuarantineUntil != 0 || g.RestoreUntil != g.Number/1000+restoring {
				t.Errorf("%+v, want restoring time without quarantine", g)
			}
		})
	})
	t.Run("ends the quarantine of another server", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		replica := b.Client()
		follow(t, replica, a)
		before := start(t, a.Addr(), no).connect()
		ok(t, a.Client().Do(t.Context(), "WAIT", 1, 0).Err())
		promote(t, replica)
		ok(t, Install(t.Context(), replica, nil))
		g := start(t, b.Addr(), no).connect()
		settled(t, g)
		if g.Number <= before.Number {
			t.Errorf("number %d, want one after %d", g.Number, before.Number)
		}
	})
}
