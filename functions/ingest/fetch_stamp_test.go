package ingest

import (
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
)

func TestStampOf(t *testing.T) {
	t.Parallel()
	state := func(now, incarnation, resolved int64) slot.State {
		return slot.State{Seen: slot.Seen{Now: now, Incarnation: incarnation}, Resolved: resolved}
	}
	absent := func(now int64) slot.State { return slot.State{Seen: slot.Seen{Now: now}, Absent: true} }
	l := slot.Lane{Key: "a", Retention: time.Minute}
	const year = 1796119200000

	seen := map[string]string{}
	for name, stamp := range map[string]string{
		"a lane":             stampOf(l, state(year, 7, 3)),
		"one more resolved":  stampOf(l, state(year, 7, 4)),
		"another life":       stampOf(l, state(year, 8, 3)),
		"another lane":       stampOf(slot.Lane{Key: "b", Retention: time.Minute}, state(year, 7, 3)),
		"absent":             stampOf(l, absent(year)),
		"absent, much later": stampOf(l, absent(year+time.Minute.Milliseconds())),
	} {
		if other, twice := seen[stamp]; twice {
			t.Errorf("%s and %s have one stamp, %s", name, other, stamp)
		}
		seen[stamp] = name
	}
	if got := stampOf(l, state(year+1, 7, 3)); seen[got] != "a lane" {
		t.Errorf("time alone changes the stamp to %s", got)
	}
	// A lane outlives its last request by the retention: two looks with one stamp, both absent, are less apart.
	for shift := range int64(3 * 60_000) {
		if stampOf(l, absent(year)) == stampOf(l, absent(year+shift)) && shift >= 60_000 {
			t.Fatalf("absent for %d ms under one stamp: a whole life may lie between", shift)
		}
	}
}

func TestLowest(t *testing.T) {
	t.Parallel()
	running := func(tickets ...int64) []slot.Running {
		list := make([]slot.Running, len(tickets))
		for i, ticket := range tickets {
			list[i].Ticket = ticket
		}
		return list
	}
	head := func(ticket int64) slot.Seen { return slot.Seen{Next: slot.Head{Ticket: ticket}} }
	for name, tt := range map[string]struct {
		state slot.State
		want  int64
	}{
		"an absent lane":                {slot.State{Absent: true}, 0},
		"an idle lane":                  {slot.State{NextTicket: 9}, 9},
		"a head that waits":             {slot.State{NextTicket: 9, Seen: head(5)}, 5},
		"what runs before the head":     {slot.State{NextTicket: 9, Seen: head(5), Running: running(4, 3)}, 3},
		"what runs behind a retry":      {slot.State{NextTicket: 9, Seen: head(2), Running: running(4, 3)}, 2},
		"what runs alone":               {slot.State{NextTicket: 9, Running: running(8)}, 8},
		"more that run than are listed": {slot.State{NextTicket: 999, Running: running(make([]int64, slot.RunningListed)...)}, 0},
	} {
		if got := lowest(tt.state); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
