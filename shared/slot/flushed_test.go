package slot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

// ends runs the request a to its end with a response of that size.
func (b *bundle) ends(t *testing.T, size int) slot.Record {
	t.Helper()
	req := ended(b.immediate(t, "a"), "a", slot.Accept)
	req.Response = []byte(strings.Repeat("r", size))
	return b.finish(t, req).Record
}

func (b *bundle) flushed(t *testing.T, r slot.Record, edit func(*slot.FlushedRequest)) {
	t.Helper()
	req := slot.FlushedRequest{ID: r.ID, Ticket: r.Ticket, Fence: r.Fence, Same: true, Keyed: true}
	if edit != nil {
		edit(&req)
	}
	if err := b.store.Flushed(t.Context(), b.lane, req); err != nil {
		t.Fatal(err)
	}
}

func TestFlushed(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"a response that others may ask for soon stays": func(t *testing.T, b *bundle) {
			r := b.ends(t, slot.FlushedResponse)
			b.flushed(t, r, nil)
			if res := b.reserve(t, ingest("a")).Record; !res.Durable || len(res.Response) != slot.FlushedResponse {
				t.Errorf("durable %t with %d bytes, want the response still", res.Durable, len(res.Response))
			}
		},
		"a longer one goes at once, the rest of the record says where it is": func(t *testing.T, b *bundle) {
			r := b.ends(t, slot.FlushedResponse+1)
			b.flushed(t, r, nil)
			res := b.reserve(t, ingest("a"))
			wantVerdict(t, res.Verdict, slot.Replayed)
			if res.Record.Status != slot.Done || !res.Record.Durable || len(res.Record.Response) != 0 {
				t.Errorf("%+v, want a tombstone", res.Record)
			}
		},
		"one that is not the durable one goes at once": func(t *testing.T, b *bundle) {
			r := b.ends(t, 1)
			b.flushed(t, r, func(req *slot.FlushedRequest) { req.Same = false })
			if res := b.reserve(t, ingest("a")).Record; !res.Durable || len(res.Response) != 0 {
				t.Errorf("%+v, want a tombstone", res)
			}
		},
		"the first end stays, where the durable one is another": func(t *testing.T, b *bundle) {
			r := b.ends(t, 1)
			b.flushed(t, r, func(req *slot.FlushedRequest) { req.Same, req.Held = false, slot.Dead })
			if res := b.reserve(t, ingest("a")).Record; res.Status != slot.Dead || !res.Durable || len(res.Response) != 0 {
				t.Errorf("%+v, want a tombstone of a dead one", res)
			}
		},
		"another outcome of the request is left alone": func(t *testing.T, b *bundle) {
			r := b.ends(t, slot.FlushedResponse+1)
			for _, edit := range []func(*slot.FlushedRequest){
				func(req *slot.FlushedRequest) { req.Fence-- }, func(req *slot.FlushedRequest) { req.Ticket-- },
				func(req *slot.FlushedRequest) { req.ID = "b" },
			} {
				b.flushed(t, r, edit)
			}
			if res := b.reserve(t, ingest("a")).Record; res.Durable || len(res.Response) == 0 {
				t.Errorf("durable %t with %d bytes, want nothing changed", res.Durable, len(res.Response))
			}
		},
		"a request that is open again is left alone": func(t *testing.T, b *bundle) {
			g := b.run(t, b.queued(t, "a")[0])
			b.flushed(t, slot.Record{ID: "a", Ticket: g.Ticket, Fence: g.Fence}, nil)
			if _, r := b.inspect(t, "a"); r.Durable || r.Status != slot.Open {
				t.Errorf("%+v, want it open and not durable", r.Record)
			}
		},
	})
}

func TestLivesOfADurableRecord(t *testing.T) {
	t.Parallel()
	for name, keyed := range map[string]bool{"whose client may ask again": true, "whose client has no key": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAging(t)
			a.flushed(t, a.ends(t, 1), func(req *slot.FlushedRequest) { req.Keyed = keyed })
			a.pass(slot.FlushedLife - time.Millisecond)
			if _, r := a.inspect(t, "a"); string(r.Response) != "r" {
				t.Errorf("after not quite 15 minutes the response is %q, want it there", r.Response)
			}
			a.pass(2 * time.Millisecond)
			if _, r := a.inspect(t, "a"); len(r.Response) != 0 || r.Known != keyed {
				t.Errorf("then %+v, want no response, and a tombstone: %t", r.Record, keyed)
			}
		})
	}
	t.Run("flushed late goes at once", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		r := a.ends(t, 1)
		a.pass(slot.FlushedLife + time.Second)
		a.flushed(t, r, nil)
		if _, r := a.inspect(t, "a"); len(r.Response) != 0 || !r.Durable {
			t.Errorf("%+v, want a tombstone", r.Record)
		}
	})
}
