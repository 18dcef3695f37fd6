package slot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func (b *bundle) list(t *testing.T, req slot.ListRequest) slot.Listed {
	t.Helper()
	l, err := b.store.List(t.Context(), b.lane, req)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// words tells id, state and position of every request in a list.
func words(l slot.Listed) (list []string) {
	for _, r := range l.Requests {
		text := r.ID + " " + string(r.Status)
		for word, is := range map[string]bool{" live": r.Live, " parked": r.Parked, " unknown": r.Unknown} {
			if is {
				text += word
			}
		}
		if r.Position > 0 {
			text += fmt.Sprint(" ", r.Position)
		}
		list = append(list, text)
	}
	return list
}

func (b *bundle) wantList(t *testing.T, req slot.ListRequest, want ...string) slot.Listed {
	t.Helper()
	got := b.list(t, req)
	if diff := cmp.Diff(want, words(got)); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", req, diff)
	}
	return got
}

func TestList(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"of an unknown lane is empty, and makes none": func(t *testing.T, b *bundle) {
			if got := b.wantList(t, slot.ListRequest{Size: 10}); got.Upto != 0 || len(b.dump(t)) != 0 {
				t.Errorf("%+v, keys %v, want nothing", got, b.dump(t))
			}
		},
		"ended, running and waiting ones come in ticket order, and by status": func(t *testing.T, b *bundle) {
			b.finish(t, ended(b.immediate(t, "done"), "done", slot.Accept))
			b.clock.Advance(b.lane.Spacing)
			b.finish(t, ended(b.immediate(t, "dead"), "dead", slot.GiveUp))
			b.clock.Advance(b.lane.Spacing)
			g := b.immediate(t, "runs")
			b.queued(t, "first", "gone", "second")
			b.cancel(t, "gone")
			before := b.dump(t)
			all := b.wantList(t, slot.ListRequest{Size: 100},
				"done done", "dead dead", "runs open live", "first open 1", "gone cancelled", "second open 2")
			if all.Upto != 0 {
				t.Errorf("upto %d of a whole list", all.Upto)
			}
			if r := all.Requests[2]; r.Ticket != g.Ticket || r.Attempts != 1 || r.Target != "shop" || r.Submitted.IsZero() || r.Started.IsZero() {
				t.Errorf("running: %+v, want what its record tells", r)
			}
			if _, want := b.inspect(t, "second"); all.Requests[5].Slot != want.Slot || want.Slot == 0 {
				t.Errorf("slot %d, want %d as Inspect tells", all.Requests[5].Slot, want.Slot)
			}
			for only, want := range map[string][]string{
				"queued": {"first open 1", "second open 2"}, "running": {"runs open live"}, "unknown": nil,
				"done": {"done done"}, "dead": {"dead dead"}, "cancelled": {"gone cancelled"},
			} {
				b.wantList(t, slot.ListRequest{Size: 100, Only: only}, want...)
			}
			var pages []string
			for req := (slot.ListRequest{Size: 1}); ; {
				page := b.list(t, req)
				pages = append(pages, words(page)...)
				if req.After = page.Upto; req.After == 0 {
					break
				}
			}
			if diff := cmp.Diff(words(all), pages); diff != "" {
				t.Errorf("pages of one (-all +pages):\n%s", diff)
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("listing changed the lane (-before +after):\n%s", diff)
			}
		},
		"a head that stands is told": func(t *testing.T, b *bundle) {
			b.parked(t)
			if got := b.list(t, slot.ListRequest{Size: 1, Only: "queued"}); len(got.Requests) != 1 || !got.Requests[0].Parked {
				t.Errorf("%+v, want the parked head", got)
			}
		},
		"what is durable elsewhere is not listed": func(t *testing.T, b *bundle) {
			r := b.ends(t, 1)
			b.wantList(t, slot.ListRequest{Size: 10}, "a done")
			b.flushed(t, r, func(req *slot.FlushedRequest) { req.Fence++ })
			b.wantList(t, slot.ListRequest{Size: 10}, "a done")
			b.flushed(t, r, nil)
			b.wantList(t, slot.ListRequest{Size: 10})
		},
		"an id that is used again is listed once": func(t *testing.T, b *bundle) {
			b.immediate(t, "runs")
			b.queued(t, "a", "b")
			b.cancel(t, "a")
			again := ingest("a")
			again.Owner = "another call"
			wantVerdict(t, b.reserve(t, again).Verdict, slot.Reserved)
			b.wantList(t, slot.ListRequest{Size: 10}, "runs open live", "b open 1", "a open 2")
		},
		"a purged one is cancelled once its task comes": func(t *testing.T, b *bundle) {
			b.immediate(t, "runs")
			task := b.queued(t, "a")[0]
			b.purge(t)
			b.start(t, task)
			b.wantList(t, slot.ListRequest{Size: 10}, "runs open live", "a cancelled")
		},
	})
}

// TestTheListOfEndedOnesIsBounded by time, and by number.
func TestTheListOfEndedOnesIsBounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb)
		b.lane.Spacing = 0
		listed := func() int64 { return rdb.ZCard(t.Context(), slot.KeysOf(b.lane.Key).Listed()).Val() }
		for i := range 5 {
			b.finish(t, ended(b.immediate(t, fmt.Sprint("old", i)), fmt.Sprint("old", i), slot.Accept))
		}
		b.clock.Advance(b.lane.Retention)
		for i, want := range []int64{3, 2, 3} {
			b.finish(t, ended(b.immediate(t, fmt.Sprint("new", i)), fmt.Sprint("new", i), slot.Accept))
			if got := listed(); got != want {
				t.Errorf("%d listed after %d more, want %d", got, i+1, want)
			}
		}
		var many []redis.Z
		for i := range 100_000 {
			many = append(many, redis.Z{Score: float64(i), Member: fmt.Sprintf("%d x done %d", i, b.clock.Now())})
		}
		if err := rdb.ZAdd(t.Context(), slot.KeysOf(b.lane.Key).Listed(), many...).Err(); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Millisecond)
		b.finish(t, ended(b.immediate(t, "last"), "last", slot.Accept))
		if got := listed(); got != 100_000 {
			t.Errorf("%d listed, want no more than 100 000", got)
		}
		b.wantList(t, slot.ListRequest{Size: 10, After: 99_999}, "new0 done", "new1 done", "new2 done", "last done")
	})
}
