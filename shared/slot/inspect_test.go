package slot_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"an unknown lane is an empty one, and looking does not make it": func(t *testing.T, b *bundle) {
			state, req := b.inspect(t, "a")
			if !state.Absent || state.Depth != 0 || state.Waiting != 0 || state.Next.Ticket != 0 || state.Last != 0 || req.Known || req.Open {
				t.Errorf("state %+v, request %+v, want nothing", state, req)
			}
			if diff := cmp.Diff(map[string]map[string]string{}, b.dump(t)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		},
		"running, waiting and finished requests are told apart": func(t *testing.T, b *bundle) {
			done := b.immediate(t, "done")
			b.finish(t, ended(done, "done", slot.Accept))
			b.clock.Advance(b.lane.Spacing)
			g := b.immediate(t, "runs")
			started := time.UnixMilli(b.clock.Now()).UTC()
			tasks := b.queued(t, "first", "second")
			before := b.dump(t)
			state, req := b.inspect(t, "second")
			now := b.clock.Now()
			want := slot.State{
				Seen: slot.Seen{
					Now: now, Incarnation: state.Incarnation,
					Next: slot.Head{Ticket: tasks[0].Ticket, Request: "first", Due: state.Next.Due, Deadline: after(now, slot.ConfirmWithin), Seen: state.Now},
				},
				Depth: 3, Waiting: 2, Running: []slot.Running{{Ticket: g.Ticket, Request: "runs", Started: started}},
				Gate: after(now, b.lane.Spacing), HeadRun: after(now, b.lane.Spacing), Last: after(now, 2*b.lane.Spacing),
				Resolved: 1, NextTicket: tasks[1].Ticket + 1, Full: true, HeadTarget: "shop",
			}
			want.Interval = state.Interval // TestInterval
			if diff := cmp.Diff(want, state); diff != "" {
				t.Errorf("lane (-want +got):\n%s", diff)
			}
			if !req.Open || req.Live || req.Position != 2 || req.Slot != want.Last || req.Status != slot.Open || req.Target != "shop" {
				t.Errorf("waiting request: %+v, want open, second, slot %d", req, want.Last)
			}
			if _, req = b.inspect(t, "runs"); !req.Open || !req.Live || req.Attempts != 1 || req.Position != 0 {
				t.Errorf("running request: %+v, want live after one attempt", req)
			}
			if _, req = b.inspect(t, "done"); !req.Known || req.Open || req.Status != slot.Done {
				t.Errorf("finished request: %+v, want done and not open", req)
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("looking changed the lane (-before +after):\n%s", diff)
			}
		},
		"what holds the lane is shown": func(t *testing.T, b *bundle) {
			b.lane.Attempts = 1
			b.finish(t, ended(b.immediate(t, "dies"), "dies", slot.Retry))
			b.lane.Attempts = 3
			b.queued(t, "a")
			hold := after(b.clock.Now(), b.lane.BackoffMin)
			b.pause(t, true)
			state, _ := b.inspect(t, "")
			if state.Hold != hold || state.HeadRun != hold || !state.Paused || state.Stands != slot.StandsPaused || state.Next.At != 0 {
				t.Errorf("held: %+v, want hold %d, paused", state, hold)
			}
		},
		"a head's own backoff and attempts are shown": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			res := b.finish(t, ended(b.run(t, task), "a", slot.Retry))
			state, req := b.inspect(t, "a")
			if state.HeadNotBefore != res.At || state.HeadAttempts != 1 || req.Attempts != 1 || req.Live || req.Position != 1 {
				t.Errorf("state %+v, request %+v, want one attempt, not before %d", state, req, res.At)
			}
		},
	})
}

// TestWorkIsConstant counts Redis' own commands: every script runs as many of them in a lane of 10 000 as in one of 100.
func TestWorkIsConstant(t *testing.T) {
	t.Parallel()
	counts := map[int]map[string]int{}
	for _, size := range []int{100, 10_000} {
		b := setup(t, redistest.Start(t).Client())
		b.lane.MaxDepth = 1_000_000
		b.clock.After = nil
		tasks := b.queued(t, "a", "b", "c")
		b.fill(t, size)
		counts[size] = map[string]int{}
		count := func(name string, call func()) {
			t.Helper()
			before := b.commands(t)
			call()
			counts[size][name] = b.commands(t) - before
		}
		var g slot.Grant
		count("start", func() { g = b.run(t, tasks[0]) })
		count("renew", func() { _, _, _ = b.store.Renew(t.Context(), b.lane, g) })
		count("ending", func() { _, _ = b.store.Ending(t.Context(), b.lane, ended(g, "a", slot.Accept)) })
		count("wait", func() { b.start(t, tasks[1]) })
		count("reserve", func() { b.reserve(t, ingest("new")) })
		count("duplicate", func() { b.reserve(t, ingest("new")) })
		count("inspect", func() { b.inspect(t, "new") })
		count("list", func() { b.list(t, slot.ListRequest{After: tasks[0].Ticket, Size: 20}) })
		count("retry", func() { b.finish(t, ended(g, "a", slot.Retry)) })
		b.clock.Advance(b.lane.BackoffMin)
		count("finish", func() { b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept)) })
		count("void", func() { b.void(t, "c", tasks[2].Ticket, true) })
		count("kick", func() { b.kick(t, tasks[0].Incarnation, 0, "one") })
	}
	if diff := cmp.Diff(counts[100], counts[10_000]); diff != "" {
		t.Errorf("commands with 100 waiting (-) and with 10 000 (+):\n%s", diff)
	}
	t.Logf("Redis commands per script: %v", counts[100])
}

// fill makes the lane's last ticket wait n times over.
func (b *bundle) fill(t *testing.T, n int) {
	t.Helper()
	keys := slot.KeysOf(b.lane.Key)
	state, err := b.rdb.HGet(t.Context(), keys.State(), "nxt").Int64()
	if err != nil {
		t.Fatal(err)
	}
	packed := b.rdb.HGet(t.Context(), keys.Queue(), fmt.Sprint(state-1)).Val()
	var fields []any
	for i := range int64(n) {
		fields = append(fields, state+i, packed)
	}
	if err := b.rdb.HSet(t.Context(), keys.Queue(), fields...).Err(); err != nil {
		t.Fatal(err)
	}
	b.write(t, "nxt", state+int64(n))
}

// commands is how many commands Redis has run, those inside scripts included, those that only count left out.
func (b *bundle) commands(t *testing.T) int {
	t.Helper()
	total := 0
	for line := range strings.Lines(b.rdb.Info(t.Context(), "commandstats").Val()) {
		var calls int
		name, rest, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(rest, "calls=%d", &calls); err == nil && !strings.Contains(name, "info") && !strings.Contains(name, "eval") {
			total += calls
		}
	}
	return total
}
