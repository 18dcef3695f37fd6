package ingest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// history is the body of a lane's journal.
type history struct {
	Key       string
	Verified  bool
	Violation *journal.Violation
	Entries   []journal.Entry
}

func (b *bundle) history(key string) history {
	b.t.Helper()
	w := b.get("/v1/lanes/" + key + "/journal")
	if w.Code != 200 {
		b.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return body[history](b.t, w)
}

func TestTheJournalOfALane(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		if diff := cmp.Diff(history{Key: "lane-a", Verified: true, Entries: []journal.Entry{}}, b.history("lane-a")); diff != "" {
			t.Errorf("of an unknown lane (-want +got):\n%s", diff)
		}
		id := b.submit("lane-a").Header().Get("Seriatim-Request-Id")
		b.waitRedis(2 * time.Millisecond)
		for range 2 { // the second changes nothing
			if w := b.call("POST", "/v1/lanes/lane-a/pause", ""); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		got := b.history("lane-a")
		var events []journal.Event
		for _, e := range got.Entries {
			events = append(events, e.Event)
			if age := time.Since(time.UnixMilli(int64(e.At))); age < -time.Hour || age > time.Hour {
				t.Errorf("%s at %d, want a time of now", e.Event, e.At)
			}
			if e.Ticket != 0 && e.Event != journal.Begin && e.Request != id {
				t.Errorf("%+v, want it of request %s", e, id)
			}
		}
		want := []journal.Event{journal.Begin, journal.Reserve, journal.Grant, journal.Done, journal.Pause}
		if diff := cmp.Diff(want, events); diff != "" || !got.Verified {
			t.Errorf("verified %t, %v, events (-want +got):\n%s", got.Verified, got.Violation, diff)
		}

		// A start that no script would make.
		forged := got.Entries[2]
		forged.At = got.Entries[4].At
		if err := rdb.RPush(t.Context(), slot.KeysOf("lane-a").Journal(), forged.String()).Err(); err != nil {
			t.Fatal(err)
		}
		got = b.history("lane-a")
		if v := got.Violation; got.Verified || v == nil || v.Index != 5 || v.Invariant != journal.Effect {
			t.Errorf("verified %t, %v, want a ticket that starts again at entry 5", got.Verified, v)
		}
	})
}
