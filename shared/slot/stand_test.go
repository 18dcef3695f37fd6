package slot_test

import (
	"context"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func (b *bundle) resolve(t *testing.T, id string, as slot.Resolution) slot.Cancelling {
	t.Helper()
	c, err := b.store.Resolve(t.Context(), b.lane, id, as, "operator-"+string(as))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parked makes a lane stand on its first request, with others behind it.
func (b *bundle) parked(t *testing.T) (tasks []slot.StartRequest, res slot.Finished) {
	t.Helper()
	b.lane.Park = true
	tasks = b.queued(t, "a", "b", "c")
	end := ended(b.run(t, tasks[0]), "a", slot.GiveUp)
	end.Response, end.Reason = []byte("no"), "status"
	return tasks, b.finish(t, end)
}

// lost makes a lane stand on its first request, whose lease ran out without an end.
func (b *bundle) lost(t *testing.T) ([]slot.StartRequest, slot.Grant) {
	t.Helper()
	b.lane.HoldAmbiguous = true
	tasks := b.queued(t, "a", "b")
	g := b.run(t, tasks[0])
	b.clock.Advance(b.lane.Lease)
	return tasks, g
}

func TestPark(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a request that is given up keeps its place, its task, and the lane stands": func(t *testing.T, b *bundle) {
			tasks, res := b.parked(t)
			if res.Outcome != slot.Parked || res.K != tasks[0].K+1 || res.Due < after(b.clock.Now(), 9*time.Minute) || res.Next.At != 0 {
				t.Errorf("%+v, want parked, a task minutes later, and no next start", res)
			}
			b.clock.Advance(time.Hour)
			for _, task := range tasks {
				task.K++
				if res := b.start(t, task); res.Verdict != slot.Snoozed || res.Reason != "parked" {
					t.Errorf("%s: %+v, want SNOOZE, parked", task.Request, res)
				}
			}
			state, req := b.inspect(t, "a")
			if state.Stands != slot.StandsParked || state.Depth != 3 || !req.Parked || req.Reason != "status" || string(req.Response) != "no" {
				t.Errorf("%+v %+v, want it parked with its reason and response", state, req)
			}
		},
		"attempts that are used up park as well": func(t *testing.T, b *bundle) {
			b.lane.Park, b.lane.Attempts = true, 1
			res := b.finish(t, ended(b.run(t, b.queued(t, "a")[0]), "a", slot.Retry))
			if res.Outcome != slot.Parked {
				t.Errorf("%+v, want parked", res)
			}
		},
		"an own run at once that parks gets its first task": func(t *testing.T, b *bundle) {
			b.lane.Park = true
			end := ended(b.immediate(t, "a"), "a", slot.GiveUp)
			end.K, end.Own = -1, true
			if res := b.finish(t, end); res.Outcome != slot.Parked || res.K != 0 || res.Due == 0 {
				t.Errorf("%+v, want parked, with task 0 to create", res)
			}
		},
		"redrive runs it again in its place with all its attempts, skip gives it up": func(t *testing.T, b *bundle) {
			tasks, _ := b.parked(t)
			b.clock.Advance(time.Minute)
			b.lane.Attempts = 2
			if c := b.resolve(t, "a", slot.Redrive); c.Verdict != slot.OK || c.Next.Request != "a" || c.Next.At != b.clock.Now() {
				t.Errorf("redrive: %+v, want a runnable now", c)
			}
			tasks[0].K++
			res := b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Retry))
			if res.Outcome != slot.Retry {
				t.Errorf("%+v, want another attempt", res)
			}
			b.clock.Advance(time.Minute)
			tasks[0].K++
			b.finish(t, ended(b.run(t, tasks[0]), "a", slot.GiveUp))
			c := b.resolve(t, "a", slot.Skip)
			if c.Status != slot.Dead || c.Next.Request != "b" || c.Next.At == 0 {
				t.Errorf("skip: %+v, want a dead and b next", c)
			}
			wantVerdict(t, b.start(t, tasks[0]).Verdict, slot.AlreadyDone)
			b.clock.Advance(b.lane.Spacing)
			b.run(t, tasks[1])
		},
		"with room for several, others that run go on and nothing new starts": func(t *testing.T, b *bundle) {
			b.lane.Park, b.lane.Concurrency, b.lane.Spacing = true, 2, 0
			tasks := b.queued(t, "a", "b", "c")
			first, second := b.run(t, tasks[0]), b.run(t, tasks[1])
			b.finish(t, ended(second, "b", slot.GiveUp))
			b.finish(t, ended(first, "a", slot.Accept))
			wantVerdict(t, b.start(t, tasks[2]).Verdict, slot.Snoozed)
			b.resolve(t, "b", slot.Skip)
			b.run(t, tasks[2])
		},
		"a parked head can be cancelled and purged": func(t *testing.T, b *bundle) {
			tasks, _ := b.parked(t)
			if c := b.cancel(t, "a"); c.Verdict != slot.OK || c.Next.Request != "b" || c.Next.At == 0 {
				t.Errorf("cancel: %+v, want b next", c)
			}
			b.clock.Advance(b.lane.Spacing)
			b.finish(t, ended(b.run(t, tasks[1]), "b", slot.GiveUp))
			if n := b.purge(t); n != 2 {
				t.Errorf("purged %d, want b and c", n)
			}
			if state, req := b.inspect(t, "b"); state.Stands != "" || state.Depth != 0 || req.Status != slot.Cancelled {
				t.Errorf("%+v %+v, want an empty lane and b cancelled", state, req)
			}
		},
		"only what is parked is redriven or skipped": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			wantVerdict(t, b.resolve(t, "a", slot.Skip).Verdict, slot.StillRunning)
			wantVerdict(t, b.resolve(t, "b", slot.Skip).Verdict, slot.Kept)
			wantVerdict(t, b.resolve(t, "b", slot.ResolveDone).Verdict, slot.Kept)
			b.finish(t, ended(g, "a", slot.Accept))
			wantVerdict(t, b.resolve(t, "a", slot.Redrive).Verdict, slot.AlreadyFinished)
			wantVerdict(t, b.resolve(t, "z", slot.Redrive).Verdict, slot.None)
		},
	})
}

func TestHoldAmbiguous(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a lost lease leaves its request unknown, and the lane stands until somebody speaks": func(t *testing.T, b *bundle) {
			tasks, _ := b.lost(t)
			for _, task := range tasks {
				if res := b.start(t, task); res.Verdict != slot.Snoozed || res.Reason != "unknown" {
					t.Errorf("%s: %+v, want SNOOZE, unknown", task.Request, res)
				}
			}
			state, req := b.inspect(t, "a")
			if state.Stands != slot.StandsUnknown || !req.Unknown {
				t.Errorf("%+v %+v, want unknown", state, req)
			}
			dup := ingest("a")
			dup.Owner = "another"
			if res := b.reserve(t, dup); res.Verdict != slot.Duplicate || !res.Unknown {
				t.Errorf("duplicate: %+v, want it told unknown", res)
			}
			wantVerdict(t, b.cancel(t, "a").Verdict, slot.OutcomeUnknown)
			wantVerdict(t, b.resolve(t, "a", slot.Skip).Verdict, slot.Kept)
		},
		"its run may still end it": func(t *testing.T, b *bundle) {
			tasks, g := b.lost(t)
			b.start(t, tasks[1])
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
			b.run(t, tasks[1])
		},
		"retry runs it again under a new fence, and its old run has lost": func(t *testing.T, b *bundle) {
			tasks, g := b.lost(t)
			wantVerdict(t, b.resolve(t, "a", slot.ResolveRetry).Verdict, slot.OK)
			if again := b.run(t, tasks[0]); again.Fence <= g.Fence {
				t.Errorf("fence %d after %d", again.Fence, g.Fence)
			}
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.Lost)
		},
		"done and dead end it without a response": func(t *testing.T, b *bundle) {
			for id, as := range map[string]slot.Resolution{"x": slot.ResolveDone, "y": slot.ResolveDead} {
				b.lane.HoldAmbiguous = true
				task := b.queued(t, id)[0]
				b.clock.Advance(b.lane.Spacing)
				g := b.run(t, task)
				b.clock.Advance(b.lane.Lease)
				if c := b.resolve(t, id, as); c.Verdict != slot.OK || string(c.Status) != string(as) {
					t.Errorf("%s: %+v", as, c)
				}
				if res := b.start(t, task); res.Verdict != slot.AlreadyDone || string(res.Status) != string(as) {
					t.Errorf("its task: %+v, want DONE %s", res, as)
				}
				wantVerdict(t, b.finish(t, ended(g, id, slot.GiveUp)).Verdict, slot.OK) // the record stays
				if _, req := b.inspect(t, id); string(req.Status) != string(as) {
					t.Errorf("%s: status %s", as, req.Status)
				}
			}
		},
		"a policy that does not hold runs it again": func(t *testing.T, b *bundle) {
			tasks, _ := b.lost(t)
			b.lane.HoldAmbiguous = false
			b.run(t, tasks[0])
		},
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	within := func(b *bundle, id string, d time.Duration) slot.ReserveRequest {
		req := ingest(id)
		req.Deadline = time.UnixMilli(after(b.clock.Now(), d))
		return req
	}
	both(t, map[string]func(*testing.T, *bundle){
		"one that cannot be met is refused with the slot, and changes nothing": func(t *testing.T, b *bundle) {
			b.immediate(t, "a")
			before := b.dump(t)
			res := b.reserve(t, within(b, "b", b.lane.Spacing-1))
			if res.Verdict != slot.Full || res.Reason != "deadline" || res.Slot != after(b.clock.Now(), b.lane.Spacing) {
				t.Errorf("%+v, want FULL, deadline, with the slot", res)
			}
			if same := b.dump(t); len(before) != len(same) {
				t.Errorf("keys %v, want %v", same, before)
			}
		},
		"a request that waits past it is dead when its task comes, at the latest then": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			res := b.reserve(t, within(b, "b", 2*time.Second))
			if deadline := after(b.clock.Now(), 2*time.Second); res.Due > deadline+1 {
				t.Errorf("due %d, want by the deadline %d", res.Due, deadline)
			}
			behind := b.queued(t, "c")[0]
			b.clock.Advance(3 * time.Second)
			task := slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: "b", Owner: "o", Jitter: 1}
			if got := b.start(t, task); got.Verdict != slot.AlreadyDone || got.Status != slot.Dead || got.Reason != slot.ReasonDeadline {
				t.Errorf("%+v, want DONE, dead of its deadline", got)
			}
			if got := b.start(t, task); got.Verdict != slot.AlreadyDone || got.Reason != "" {
				t.Errorf("once more: %+v, want DONE, and no reason: it has ended before", got)
			}
			if _, req := b.inspect(t, "b"); req.Reason != "deadline" || req.Status != slot.Dead {
				t.Errorf("%+v, want dead of its deadline", req)
			}
			b.finish(t, ended(g, "a", slot.Accept))
			b.run(t, behind)
		},
		"who drives it finds it dead": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			res := b.reserve(t, within(b, "b", 2*time.Second))
			b.clock.Advance(3 * time.Second)
			b.finish(t, ended(g, "a", slot.Accept))
			if got := b.start(t, drive(slot.Head{Ticket: res.Ticket, Request: "b"})); got.Verdict != slot.AlreadyDone || got.Reason != slot.ReasonDeadline || got.Next.Ticket != 0 {
				t.Errorf("%+v, want DONE of its deadline and an empty lane", got)
			}
		},
		"after its first start it holds no more": func(t *testing.T, b *bundle) {
			req := within(b, "a", time.Second)
			res := b.reserve(t, req)
			task := slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: "a", Owner: "o", Jitter: 1}
			b.finish(t, ended(b.run(t, task), "a", slot.Retry))
			b.clock.Advance(time.Hour)
			b.run(t, task)
		},
		"a lane that stands lets it die in time": func(t *testing.T, b *bundle) {
			res := b.reserve(t, within(b, "a", 30*time.Second))
			b.pause(t, true)
			task := slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: "a", Owner: "o", Jitter: 1}
			if got := b.start(t, task); got.At != after(b.clock.Now(), 30*time.Second)+1 {
				t.Errorf("snoozed to %d, want just past its deadline", got.At)
			}
		},
	})
}

func TestTargetPaused(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a head of that target stands, and the lane behind it": func(t *testing.T, b *bundle) {
			targets := slot.NewPausedTargets(b.rdb, time.Now)
			b.store.Paused = targets.List
			b.lane.Spacing = 0
			name := "target of " + t.Name()
			req := ingest("a")
			req.Target = name
			res := b.reserve(t, req)
			first := slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: "a", Owner: "o", Jitter: 1}
			second := b.queued(t, "b")[0]
			for _, paused := range []bool{true, true, false, false, true} {
				if err := targets.Set(t.Context(), name, paused); err != nil {
					t.Fatal(err)
				}
				other := slot.NewPausedTargets(b.rdb, time.Now)
				if targets.Has(t.Context(), name) != paused || other.Has(t.Context(), name) != paused {
					t.Errorf("paused %t is not what this and another instance see", paused)
				}
			}
			for _, task := range []slot.StartRequest{first, second} {
				if got := b.start(t, task); got.Verdict != slot.Snoozed || got.Reason != "target-paused" {
					t.Errorf("%s: %+v, want SNOOZE, target-paused", task.Request, got)
				}
			}
			if state, _ := b.inspect(t, ""); state.Stands != slot.StandsTargetPaused || state.HeadTarget != name || state.Next.At != 0 {
				t.Errorf("%+v, want it to stand on %s", state, name)
			}
			if err := targets.Set(t.Context(), name, false); err != nil {
				t.Fatal(err)
			}
			b.finish(t, ended(b.run(t, first), "a", slot.Accept))
			b.run(t, second)
		},
		"nothing starts at once, in an idle lane either": func(t *testing.T, b *bundle) {
			b.store.Paused = func(context.Context) ([]string, error) { return []string{"shop"}, nil }
			for target, want := range map[string]slot.Verdict{"shop": slot.Reserved, "shopping": slot.Run} {
				req := ingest(target)
				b.lane.Key, req.Target, req.Immediate = t.Name()+" "+target, target, true
				wantVerdict(t, b.reserve(t, req).Verdict, want)
			}
		},
		"what is known of them lasts a second, and through an outage": func(t *testing.T, b *bundle) {
			now := time.UnixMilli(1796119200000)
			targets := slot.NewPausedTargets(b.rdb, func() time.Time { return now })
			name := "target of " + t.Name()
			if targets.Has(t.Context(), name) {
				t.Error("paused before anybody said so")
			}
			if err := slot.NewPausedTargets(b.rdb, time.Now).Set(t.Context(), name, true); err != nil {
				t.Fatal(err)
			}
			if targets.Has(t.Context(), name) {
				t.Error("read again within a second")
			}
			now = now.Add(slot.PausedWithin)
			if !targets.Has(t.Context(), name) {
				t.Error("not read again after a second")
			}
			now = now.Add(slot.PausedWithin)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if !targets.Has(gone, name) {
				t.Error("forgotten")
			}
		},
	})
}

func TestRedriveAtTheTail(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a dead request gets a new ticket behind what waits; a done one is replayed": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "a"), "a", slot.GiveUp))
			waiting := b.queued(t, "b")[0]
			req := ingest("a")
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Replayed)
			req.Redrive, req.Owner = true, "operator"
			first := b.reserve(t, req)
			if first.Verdict != slot.Reserved || first.Ticket <= waiting.Ticket {
				t.Errorf("%+v, want a ticket above %d", first, waiting.Ticket)
			}
			if again := b.reserve(t, req); again.Verdict != slot.Reserved || again.Ticket != first.Ticket {
				t.Errorf("a resend: %+v, want the same ticket", again)
			}
			req.Owner = "another operator"
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Duplicate)
			b.clock.Advance(b.lane.Spacing)
			b.finish(t, ended(b.run(t, waiting), "b", slot.Accept))
			b.clock.Advance(b.lane.Spacing)
			task := slot.StartRequest{Ticket: first.Ticket, Incarnation: first.Incarnation, Request: "a", Owner: "o", Jitter: 1}
			g := b.run(t, task)
			if g.Attempt != 1 {
				t.Errorf("attempt %d, want its first", g.Attempt)
			}
			b.finish(t, ended(g, "a", slot.Accept))
			wantVerdict(t, b.reserve(t, req).Verdict, slot.Replayed)
		},
	})
}

func TestSlip(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"it is what the grant came later than the lane allowed": func(t *testing.T, b *bundle) {
			first := b.immediate(t, "a")
			task := b.queued(t, "b")[0]
			b.clock.Advance(b.lane.Spacing + 300*time.Millisecond)
			b.finish(t, ended(first, "a", slot.Accept))
			b.clock.Advance(20 * time.Millisecond)
			g := b.run(t, task)
			if again := b.start(t, task); first.Slip != 0 || g.Slip != 20*time.Millisecond || again.Grant.Slip != g.Slip {
				t.Errorf("slips %v, %v, again %v, want 0, 20 ms since the finish, the same", first.Slip, g.Slip, again.Grant.Slip)
			}
		},
		"a lane that stood was not late": func(t *testing.T, b *bundle) {
			tasks, _ := b.parked(t)
			b.clock.Advance(time.Hour)
			b.resolve(t, "a", slot.Redrive)
			tasks[0].K++
			if g := b.run(t, tasks[0]); g.Slip != 0 {
				t.Errorf("slip %v, want 0", g.Slip)
			}
		},
	})
}
