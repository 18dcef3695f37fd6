package slot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

func (b *bundle) journal(t testing.TB) []journal.Entry {
	t.Helper()
	list, err := b.store.Journal(t.Context(), b.lane)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestJournal(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"it tells what happened, once for a call that is repeated": func(t *testing.T, b *bundle) {
			if got := b.journal(t); len(got) != 0 {
				t.Errorf("of an unknown lane: %v", got)
			}
			g := b.immediate(t, "a")
			task := b.queued(t, "b")[0]
			for range 2 {
				b.finish(t, ended(g, "a", slot.Accept))
				b.void(t, "b", task.Ticket, true)
			}
			var got []string
			for _, e := range b.journal(t) {
				got = append(got, fmt.Sprint(e.Event, " ", e.Request))
			}
			want := []string{"begin ", "reserve a", "grant a", "reserve b", "done a", "void b"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		},
		"it keeps the last hundred, and for an hour after the last": func(t *testing.T, b *bundle) {
			b.lane.Spacing = 0
			for i := range 100 {
				id := fmt.Sprint("r", i)
				b.finish(t, ended(b.immediate(t, id), id, slot.Accept))
			}
			got := b.journal(t)
			if last := got[len(got)-1]; len(got) < 100 || len(got) > 120 || last.Event != journal.Done || last.Request != "r99" {
				t.Errorf("%d entries, the last %s, want 100 to 120 up to the end of r99", len(got), last)
			}
			if broken := journal.Verify(got); broken != nil {
				t.Error(broken)
			}
			if left := b.rdb.PTTL(t.Context(), slot.KeysOf(b.lane.Key).Journal()).Val(); left <= 0 || left > time.Hour+time.Minute {
				t.Errorf("it lives for %s, want an hour", left)
			}
		},
	})
}
