package twin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// TestTwinEqualsScripts calls every verb, with arguments that fit the lane and ones that do not, on the scripts and on the twin,
// and compares every answer and the whole state. Calls are repeated at random: then nothing may change (I7).
func TestTwinEqualsScripts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		walk(t, rdb, func(string) redis.Cmdable { return rdb })
	})
}

// TestTwinEqualsScriptsOnACluster does the same where a lane lies on one of three nodes.
func TestTwinEqualsScriptsOnACluster(t *testing.T) {
	t.Parallel()
	rdb := redistest.Cluster(t)
	walk(t, rdb, func(key string) redis.Cmdable {
		node, err := rdb.MasterForKey(t.Context(), slot.KeysOf(key).State())
		if err != nil {
			t.Fatal(err)
		}
		return node
	})
}

// walk makes random calls on scripts and twin; node is where the keys of a lane are.
func walk(t *testing.T, scripts redis.Scripter, node func(key string) redis.Cmdable) {
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		key := fmt.Sprintf("%s %d", t.Name(), runs)
		p := newPair(rt, scripts, node(key), key)
		for range rapid.IntRange(1, 60).Draw(rt, "calls") {
			p.step()
		}
	})
}

// pair is one lane twice: on Redis and in the twin.
type pair struct {
	*rapid.T
	rdb        redis.Cmdable
	clock      *slottest.Clock
	generation slot.Generation
	lane       slot.Lane
	scripts    *slot.Store
	twin       *twin.Store

	tickets []slot.StartRequest // as in the tasks that the calls so far asked for
	grants  []held
	seen    slot.Seen
	kick    int64
	paused  []string
	marks   slot.Marks
	steers  int
}

// held is a grant with its request.
type held struct {
	slot.Grant
	request string
}

func newPair(t *rapid.T, scripts redis.Scripter, rdb redis.Cmdable, key string) *pair {
	p := &pair{T: t, rdb: rdb, clock: slottest.NewClock(scripts), generation: slot.Generation(slot.First), lane: slot.Lane{
		Key: key, Policy: "p",
		Concurrency: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "concurrency"),
		Burst:       rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "burst"),
		Spacing:     rapid.SampledFrom([]time.Duration{0, 20 * time.Millisecond, time.Second, time.Minute}).Draw(t, "spacing"),
		Lease:       rapid.SampledFrom([]time.Duration{5 * time.Second, 30 * time.Second}).Draw(t, "lease"),
		Retention:   time.Hour, MaxDepth: rapid.SampledFrom([]int{3, 100}).Draw(t, "depth"), Attempts: 3, MaxAge: 10 * time.Minute,
		BackoffMin: time.Second, BackoffMax: 8 * time.Second,
	}}
	p.scripts = slot.New(p.clock, p, nil)
	p.scripts.Paused = func(context.Context) ([]string, error) { return p.paused, nil }
	p.scripts.Restore = func(context.Context, string) (slot.Marks, error) { return p.marks, nil }
	p.twin = twin.New(twin.Options{Now: p.clock.Now, Generation: func() slot.Generation { return p.generation }, Keep: true,
		Paused: func() []string { return p.paused }, Restore: func(string) (slot.Marks, error) { return p.marks, nil }})
	return p
}

// Current, Refresh and Verify make a pair its own slot.Generations.
func (p *pair) Current() (slot.Generation, error) { return p.generation, nil }
func (p *pair) Refresh(context.Context) error     { return nil }
func (p *pair) Verify(_ context.Context, number int64) error {
	if number != p.generation.Number {
		p.Fatalf("a life began in generation %d, want %d", number, p.generation.Number)
	}
	return nil
}

// pick draws one of what the calls so far have left, or the zero value where there is nothing.
func pick[T any](p *pair, list []T, label string) (v T) {
	if len(list) == 0 {
		return v
	}
	return rapid.SampledFrom(list).Draw(p.T, label)
}

func (p *pair) step() {
	verbs := []func(){
		p.advance, p.advance, p.reserve, p.reserve, p.reserve, p.start, p.start, p.start, p.drive, p.drive, p.finish, p.finish,
		p.finish, p.flushed, p.flushed, p.renew, p.confirm, p.void, p.giveUp, p.voidHead, p.missing, p.settle, p.doKick, p.kicked, p.inspect, p.list, p.journal, p.operate, p.steer,
	}
	verbs[rapid.IntRange(0, len(verbs)-1).Draw(p.T, "verb")]()
}

func (p *pair) advance() {
	p.clock.Advance(rapid.SampledFrom([]time.Duration{
		-3 * time.Millisecond, time.Millisecond, 19 * time.Millisecond, 60 * time.Millisecond, time.Second, 1100 * time.Millisecond,
		2 * time.Second, 5 * time.Second, 11 * time.Second, 31 * time.Second, time.Minute, 11 * time.Minute,
	}).Draw(p.T, "advance"))
}

// both makes the same call on both and compares; at random it does so again.
func both[T any](p *pair, op string, call func(verbs) (T, error)) T {
	one := func() T {
		want, err := call(p.scripts)
		got, twinErr := call(p.twin)
		if (err != nil) != (twinErr != nil) {
			p.Fatalf("%s: scripts say error %v, twin %v", op, err, twinErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			p.Fatalf("%s (-scripts +twin):\n%s", op, diff)
		}
		p.compare(op)
		return want
	}
	first := one()
	if rapid.IntRange(0, 3).Draw(p.T, "again") == 0 {
		before := p.twin.Dump(p.lane.Key)
		second := one()
		if diff := cmp.Diff(before, p.twin.Dump(p.lane.Key)); diff != "" {
			p.Fatalf("%s changed the state when repeated (-first +again):\n%s", op, diff)
		}
		return second
	}
	return first
}

func (p *pair) compare(op string) {
	want, err := slottest.Dump(p.Context(), p.rdb, p.lane.Key)
	if err != nil {
		p.Fatal(err)
	}
	for _, fields := range []string{"s", "i"} {
		for key := range want {
			if strings.HasPrefix(key, fields) {
				for name, value := range want[key] {
					if value == "0" || value == "" {
						delete(want[key], name)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(want, p.twin.Dump(p.lane.Key), cmpopts.EquateEmpty()); diff != "" {
		p.Fatalf("state after %s (-scripts +twin):\n%s", op, diff)
	}
	if v := journal.Verify(entries(p, p.twin)); v != nil {
		p.Fatalf("the journal after %s: %v", op, v)
	}
}

// verbs are the methods that slot.Store and twin.Store share.
type verbs interface {
	Reserve(context.Context, slot.Lane, slot.ReserveRequest) (slot.Reservation, error)
	Start(context.Context, slot.Lane, slot.StartRequest) (slot.Started, error)
	Finish(context.Context, slot.Lane, slot.FinishRequest) (slot.Finished, error)
	Ending(context.Context, slot.Lane, slot.FinishRequest) (slot.Ending, error)
	Renew(context.Context, slot.Lane, slot.Grant) (int64, bool, error)
	Confirm(context.Context, slot.Lane, string, int64, int64) (bool, error)
	Void(context.Context, slot.Lane, string, int64, bool) (slot.Looked, error)
	GiveUp(context.Context, slot.Lane, string, int64, int64) (slot.Looked, error)
	VoidHead(context.Context, slot.Lane, slot.Head) (slot.Looked, error)
	Missing(context.Context, slot.Lane, slot.Head) (slot.Looked, error)
	Settle(context.Context, slot.Lane, slot.Head, slot.Status) (slot.Looked, error)
	Flushed(context.Context, slot.Lane, slot.FlushedRequest) error
	Kick(context.Context, slot.Lane, int64, int64, string) (int64, int64, error)
	Cancel(context.Context, slot.Lane, string) (slot.Cancelling, error)
	Resolve(context.Context, slot.Lane, string, slot.Resolution, string) (slot.Cancelling, error)
	Pause(context.Context, slot.Lane, bool) (slot.Seen, error)
	Purge(context.Context, slot.Lane) (slot.Purging, error)
	Extend(context.Context, slot.Lane, int64) error
	List(context.Context, slot.Lane, slot.ListRequest) (slot.Listed, error)
	Inspect(context.Context, slot.Lane, string) (slot.State, slot.RequestState, error)
	Journal(context.Context, slot.Lane) ([]journal.Entry, error)
}

var (
	_ verbs = (*slot.Store)(nil)
	_ verbs = (*twin.Store)(nil)
)
