package slot_test

import (
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestRenew(t *testing.T) {
	t.Parallel()
	renew := func(t *testing.T, b *bundle, g slot.Grant) (int64, bool) {
		t.Helper()
		expiry, ok, err := b.store.Renew(t.Context(), b.lane, g)
		if err != nil {
			t.Fatal(err)
		}
		return expiry, ok
	}
	both(t, map[string]func(*testing.T, *bundle){
		"a live lease is lengthened from now, up to its last millisecond": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(b.lane.Lease - time.Millisecond)
			if expiry, ok := renew(t, b, g); !ok || expiry != after(b.clock.Now(), b.lane.Lease) {
				t.Errorf("renewed %t to %d, want %d", ok, expiry, after(b.clock.Now(), b.lane.Lease))
			}
			b.clock.Advance(b.lane.Lease - time.Millisecond)
			wantVerdict(t, b.start(t, b.queued(t, "b")[0]).Verdict, slot.Wait) // a still runs
		},
		"a lapsed one is never revived, though nobody took it over": func(t *testing.T, b *bundle) {
			g := b.immediate(t, "a")
			b.clock.Advance(b.lane.Lease)
			if _, ok := renew(t, b, g); ok {
				t.Error("renewed at its very end")
			}
		},
		"nor after a retry, a takeover, or the end": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			task := b.queued(t, "a")[0]
			first := b.run(t, task)
			b.finish(t, ended(first, "a", slot.Retry))
			if _, ok := renew(t, b, first); ok {
				t.Error("renewed after retry")
			}
			b.clock.Advance(b.lane.BackoffMin)
			second := b.run(t, task)
			if _, ok := renew(t, b, first); ok {
				t.Error("renewed under another's fence")
			}
			b.finish(t, ended(second, "a", slot.Accept))
			if _, ok := renew(t, b, second); ok {
				t.Error("renewed after the end")
			}
		},
		"a wrong fence, owner or ticket, and a lane that is gone, are lost": func(t *testing.T, b *bundle) {
			if _, ok := renew(t, b, slot.Grant{Ticket: 1, Fence: 1, Owner: "o"}); ok {
				t.Error("renewed in a lane that is not there")
			}
			g := b.immediate(t, "a")
			for name, wrong := range map[string]slot.Grant{
				"fence":  {Ticket: g.Ticket, Fence: g.Fence + 1, Owner: g.Owner},
				"owner":  {Ticket: g.Ticket, Fence: g.Fence, Owner: "rival"},
				"ticket": {Ticket: g.Ticket + 1, Fence: g.Fence, Owner: g.Owner},
			} {
				if _, ok := renew(t, b, wrong); ok {
					t.Errorf("renewed with a wrong %s", name)
				}
			}
		},
		"the lane outlives the lease": func(t *testing.T, b *bundle) {
			b.lane.Retention, b.lane.Lease = time.Minute, 10*time.Minute
			g := b.immediate(t, "a")
			for range 10 {
				b.clock.Advance(9 * time.Minute)
				expiry, _ := renew(t, b, g)
				b.livesPast(t, after(expiry, slot.ConfirmWithin))
			}
		},
	})
}

func TestKick(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a lane has one kick, whoever asks, and the asker is answered again": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			at := after(b.clock.Now(), time.Minute)
			seq, when := b.kick(t, task.Incarnation, at, "one")
			if seq == 0 || when != at {
				t.Fatalf("first: kick %d at %d, want one at %d", seq, when, at)
			}
			if again, when := b.kick(t, task.Incarnation, at, "one"); again != seq || when != at {
				t.Errorf("resend: kick %d at %d, want %d at %d", again, when, seq, at)
			}
			for _, later := range []int64{at, at + 5000} {
				if second, _ := b.kick(t, task.Incarnation, later, "two"); second != 0 {
					t.Errorf("a second kick for %d was handed out", later)
				}
			}
		},
		"one kick, also when it is wanted at once": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			overdue := b.clock.Now() - 1000 // the head could have started a second ago
			seq, when := b.kick(t, task.Incarnation, overdue, "one")
			if seq == 0 || when != b.clock.Now() {
				t.Fatalf("first: kick %d at %d, want one now", seq, when)
			}
			b.clock.Advance(20 * time.Millisecond)
			if again, when := b.kick(t, task.Incarnation, overdue, "one"); again != seq || when != b.clock.Now()-20 {
				t.Errorf("resend: kick %d at %d, want %d as before", again, when, seq)
			}
			if second, _ := b.kick(t, task.Incarnation, overdue, "two"); second != 0 {
				t.Error("a second kick was handed out: kicks multiply")
			}
		},
		"a nearer instant, or 30 s of delay, is worth another": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			at := after(b.clock.Now(), time.Minute)
			first, _ := b.kick(t, task.Incarnation, at, "one")
			second, when := b.kick(t, task.Incarnation, at-1000, "one")
			if second <= first || when != at-1000 {
				t.Errorf("nearer: kick %d at %d, want one above %d at %d", second, when, first, at-1000)
			}
			b.clock.Advance(59*time.Second + 30*time.Second - time.Millisecond)
			if third, _ := b.kick(t, task.Incarnation, at, "three"); third != 0 {
				t.Error("another within 30 s of its time")
			}
			b.clock.Advance(time.Millisecond)
			if third, _ := b.kick(t, task.Incarnation, at, "three"); third <= second {
				t.Errorf("30 s late: kick %d, want one above %d", third, second)
			}
		},
		"its delivery makes room for the next, a late duplicate of it does not": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			at := b.clock.Now()
			seq, _ := b.kick(t, task.Incarnation, at, "one")
			delivered := slot.StartRequest{Incarnation: task.Incarnation, Owner: "kick", Kick: seq, Left: slot.InlineWait, Jitter: 1}
			for range 2 {
				if res := b.start(t, delivered); res.Verdict != slot.Wait || res.Reason != "kick" || res.Next.Ticket != task.Ticket {
					t.Fatalf("kick delivered: %+v, want WAIT and the head", res)
				}
			}
			second, _ := b.kick(t, task.Incarnation, at, "two")
			if second <= seq {
				t.Fatalf("after delivery: kick %d, want one above %d", second, seq)
			}
			b.start(t, delivered) // late
			if third, _ := b.kick(t, task.Incarnation, at, "three"); third != 0 {
				t.Error("a late duplicate of the first cleared the second")
			}
		},
		"a lane that is gone, or lives anew, is not kicked": func(t *testing.T, b *bundle) {
			if seq, _ := b.kick(t, 1, 0, "one"); seq != 0 {
				t.Error("kick of no lane")
			}
			task := b.queued(t, "a")[0]
			if seq, _ := b.kick(t, task.Incarnation-1, 0, "one"); seq != 0 {
				t.Error("kick of another incarnation")
			}
		},
	})
}

func (b *bundle) kick(t *testing.T, incarnation, at int64, owner string) (seq, when int64) {
	t.Helper()
	seq, when, err := b.store.Kick(t.Context(), b.lane, incarnation, at, owner)
	if err != nil {
		t.Fatal(err)
	}
	return seq, when
}
