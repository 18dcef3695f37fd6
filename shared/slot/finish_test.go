package slot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestFinishEndsARequest(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"accept resolves the ticket, and the answer names the next head and its start": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			b.start(t, tasks[1])
			res := b.finish(t, ended(g, "a", slot.Accept))
			n := res.Next
			if res.Verdict != slot.OK || res.Outcome != slot.Accept || n.Ticket != tasks[1].Ticket || !n.Here || n.Unconfirmed() ||
				n.At != after(b.clock.Now(), b.lane.Spacing) {
				t.Errorf("accept: %+v, want OK done, next b, here, confirmed, after the spacing", res)
			}
		},
		"a resend is OK again, another fence is told that it is done": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			end := ended(g, "a", slot.Accept)
			end.Response = []byte("first")
			b.finish(t, end)
			before := b.dump(t)
			wantVerdict(t, b.finish(t, end).Verdict, slot.OK)
			rival := end
			rival.Grant.Fence++
			rival.Response = []byte("second")
			wantVerdict(t, b.finish(t, rival).Verdict, slot.AlreadyDone)
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
		},
		"a lapsed lease that nobody took over still ends its request": func(t *testing.T, b *bundle) {
			g := b.run(t, b.queued(t, "a")[0])
			b.clock.Advance(3 * b.lane.Lease)
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.OK)
		},
		"a run whose lapsed lease was cancelled has not ended its request": func(t *testing.T, b *bundle) {
			g := b.run(t, b.queued(t, "a")[0])
			b.clock.Advance(b.lane.Lease)
			if res, err := b.store.Cancel(t.Context(), b.lane, "a"); err != nil || res.Verdict != slot.OK {
				t.Fatalf("cancel: %+v, %v", res, err)
			}
			if res := b.finish(t, ended(g, "a", slot.Accept)); res.Verdict != slot.AlreadyDone || res.Outcome != slot.Outcome(slot.Cancelled) {
				t.Errorf("finish: %+v, want DONE cancelled", res)
			}
		},
		"an unknown ticket, a wrong request and a lane that is gone are lost": func(t *testing.T, b *bundle) {
			wantVerdict(t, b.finish(t, ended(slot.Grant{Ticket: 1, Fence: 1}, "a", slot.Accept)).Verdict, slot.Lost)
			g := b.immediate(t, "a")
			wantVerdict(t, b.finish(t, ended(g, "b", slot.Accept)).Verdict, slot.Lost)
			other := g
			other.Ticket++
			wantVerdict(t, b.finish(t, ended(other, "a", slot.Accept)).Verdict, slot.Lost)
		},
		"what finished after its place was given up is accepted under the same fence": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			wantVerdict(t, b.void(t, "a", g.Ticket, false), slot.Voided)
			end := ended(g, "a", slot.Accept)
			end.Response = []byte("late")
			stale := end
			stale.Grant.Fence--
			wantVerdict(t, b.finish(t, stale).Verdict, slot.Lost)
			for range 2 {
				wantVerdict(t, b.finish(t, end).Verdict, slot.OK)
			}
			if res := b.reserve(t, ingest("a")); res.Verdict != slot.Replayed || string(res.Record.Response) != "late" {
				t.Errorf("after a late accept: %+v, want its replay", res)
			}
		},
		"but not once the request has another ticket": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(slot.ConfirmWithin + time.Second)
			b.void(t, "a", g.Ticket, false)
			again := b.run(t, b.queued(t, "a")[0])
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.Lost)
			wantVerdict(t, b.finish(t, ended(again, "a", slot.Accept)).Verdict, slot.OK)
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Accept)).Verdict, slot.AlreadyDone)
		},
		"the waiter of the next head, and nobody else, is woken with its start": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b", "c")
			g := b.run(t, tasks[0])
			b.start(t, tasks[1])
			b.start(t, tasks[2])
			messages := b.listen(t)
			b.finish(t, ended(g, "a", slot.Accept))
			want := wake(tasks[1].Ticket, after(b.clock.Now(), b.lane.Spacing))
			if got := <-messages; got.Payload != want {
				t.Errorf("woken %q, want %q", got.Payload, want)
			}
		},
		"nobody is woken for a head whose executor is away": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b", "c")
			g := b.run(t, tasks[0])
			b.start(t, tasks[2])
			messages := b.listen(t)
			b.finish(t, ended(g, "a", slot.Accept))
			b.publish(t, "last")
			if got := <-messages; got.Payload != "last" {
				t.Errorf("woken %q, want nobody", got.Payload)
			}
		},
	})
}

func TestFinishRetries(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a retry keeps the place, and names its next task before anybody could look for it": func(t *testing.T, b *bundle) {
			tasks := b.queued(t, "a", "b")
			g := b.run(t, tasks[0])
			res := b.finish(t, ended(g, "a", slot.Retry))
			at := after(b.clock.Now(), b.lane.BackoffMin)
			if res.Outcome != slot.Retry || res.K != 1 || res.At != at || res.Due > at {
				t.Errorf("retry: %+v, want k 1, start %d, due no later", res, at)
			}
			if n := res.Next; n.Ticket != tasks[0].Ticket || n.K != 1 || n.Due != res.Due || n.At != at {
				t.Errorf("next %+v, want the same ticket at %d", n, at)
			}
		},
		"a resent retry is one retry, also after the next grant": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			end := ended(b.run(t, task), "a", slot.Retry)
			first := b.finish(t, end)
			before := b.dump(t)
			if diff := cmp.Diff(first, b.finish(t, end)); diff != "" {
				t.Errorf("resent (-first +again):\n%s", diff)
			}
			b.clock.Advance(b.lane.BackoffMin)
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-first +again):\n%s", diff)
			}
			g := b.run(t, task)
			before = b.dump(t)
			wantVerdict(t, b.finish(t, end).Verdict, slot.OK)
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state after the next grant (-before +after):\n%s", diff)
			}
			wantVerdict(t, b.finish(t, ended(g, "a", slot.Retry)).Verdict, slot.OK)
			wantVerdict(t, b.finish(t, end).Verdict, slot.Lost) // two grants ago
		},
		"ingest's ticket has no task yet: its first is (t, 0), and it is unconfirmed anew": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(4 * time.Second)
			end := ended(g, "a", slot.Retry)
			end.K = -1
			res := b.finish(t, end)
			if res.K != 0 || res.Next.Deadline != after(b.clock.Now(), slot.ConfirmWithin) {
				t.Errorf("retry of ingest: %+v, want k 0 and a deadline from now", res)
			}
			if res.Due != b.clock.Now() {
				t.Errorf("due %d, want now, since the backoff is within the lead", res.Due)
			}
		},
		"a driver's retry leaves the count and schedule of the ticket's own task": func(t *testing.T, b *bundle) {
			b.queued(t, "a")
			state, _ := b.inspect(t, "")
			g := b.run(t, drive(state.Next))
			res := b.finish(t, slot.FinishRequest{Grant: g, Request: "a", Outcome: slot.Retry, K: 5, Counts: true, Jitter: 1})
			if res.K != state.Next.K || res.Due != state.Next.Due {
				t.Errorf("driven retry: %+v, want k %d due %d", res, state.Next.K, state.Next.Due)
			}
		},
		"the backoff doubles over the lane's failures in a row, to its greatest, with jitter": func(t *testing.T, b *bundle) {
			b.lane.Attempts = 100
			task := b.queued(t, "a")[0]
			for i, want := range []time.Duration{1, 2, 4, 8, 8} {
				res := b.finish(t, ended(b.run(t, task), "a", slot.Retry))
				if got := res.At - b.clock.Now(); got != (want * time.Second).Milliseconds() {
					t.Errorf("failure %d: backoff %d ms, want %v", i+1, got, want*time.Second)
				}
				b.clock.Advance(want * time.Second)
			}
			end := ended(b.run(t, task), "a", slot.Retry)
			end.Jitter = 0.75
			if got := b.finish(t, end).At - b.clock.Now(); got != 6000 {
				t.Errorf("backoff with jitter %d ms, want 6000", got)
			}
		},
		"a success begins the backoff anew, and so does a final failure": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			tasks := b.queued(t, "a", "b", "c")
			for i, outcome := range []slot.Outcome{slot.Accept, slot.GiveUp} {
				b.finish(t, ended(b.run(t, tasks[i]), tasks[i].Request, slot.Retry))
				b.clock.Advance(b.lane.BackoffMin)
				b.finish(t, ended(b.run(t, tasks[i]), tasks[i].Request, outcome))
			}
			res := b.finish(t, ended(b.run(t, tasks[2]), "c", slot.Retry))
			if got := res.At - b.clock.Now(); got != b.lane.BackoffMin.Milliseconds() {
				t.Errorf("backoff %d ms, want the least", got)
			}
		},
		"Retry-After wins over the backoff, and a spared run is no attempt": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			for range 2 * b.lane.Attempts {
				end := ended(b.run(t, task), "a", slot.Retry)
				end.RetryAfter, end.Counts = 90*time.Second, false
				res := b.finish(t, end)
				if res.Outcome != slot.Retry || res.At != after(b.clock.Now(), 90*time.Second) {
					t.Fatalf("spared: %+v, want a retry in 90 s", res)
				}
				b.clock.Advance(90 * time.Second)
			}
			g := b.run(t, task)
			if want := int64(2*b.lane.Attempts + 1); g.Attempt != want {
				t.Errorf("attempt %d, want %d: grants are numbered, spared ones too", g.Attempt, want)
			}
		},
	})
}
