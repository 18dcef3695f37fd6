package journal_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// history makes random calls on a lane of the twin, whose journals are those of the scripts (package twin), and keeps more of its
// journal than the lane does.
type history struct {
	*rapid.T
	now    int64
	lane   slot.Lane
	store  *twin.Store
	tasks  []slot.StartRequest
	grants []run
	events int
	// entries are all of the lane's.
	entries []journal.Entry
}

type run struct {
	slot.Grant
	id string
}

func newHistory(t *rapid.T, without ...twin.Rule) *history {
	h := &history{T: t, now: 1796064264807, lane: slot.Lane{
		Key: "k", Policy: "p", Concurrency: rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "concurrency"),
		Burst:   rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "burst"),
		Spacing: rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "spacing"),
		Lease:   5 * time.Second, Retention: time.Hour, MaxDepth: 100, Attempts: 3, MaxAge: time.Hour,
		BackoffMin: time.Second, BackoffMax: 8 * time.Second,
		Park: rapid.Bool().Draw(t, "park"), HoldAmbiguous: rapid.IntRange(0, 3).Draw(t, "hold") == 0,
	}}
	h.store = twin.New(twin.Options{Now: func() int64 { return h.now }, Without: without})
	return h
}

func (h *history) pick(n int) int { return rapid.IntRange(0, n-1).Draw(h.T, "pick") }

func one[T any](h *history, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[h.pick(len(list))], true
}

func (h *history) owner() string {
	h.events++
	return fmt.Sprint("o", h.events)
}

// live takes so many steps and returns the first violation of what the journal then holds.
func (h *history) live(steps int) *journal.Violation {
	steppers := []func() error{
		h.tick, h.tick, h.tick, h.reserve, h.reserve, h.start, h.start, h.start, h.start, h.finish, h.finish, h.finish, h.renew, h.void, h.steer,
	}
	for range steps {
		if err := steppers[h.pick(len(steppers))](); err != nil {
			h.Fatal(err)
		}
		kept, err := h.store.Journal(h.Context(), h.lane)
		if err != nil {
			h.Fatal(err)
		}
		h.keep(kept)
		if v := journal.Verify(kept); v != nil {
			return v
		}
	}
	return nil
}

// keep adds what is new among the lane's entries.
func (h *history) keep(kept []journal.Entry) {
	for n := min(len(kept), len(h.entries)); n >= 0; n-- {
		if slices.Equal(h.entries[len(h.entries)-n:], kept[:n]) {
			h.entries = append(h.entries, kept[n:]...)
			return
		}
	}
}

func (h *history) tick() error {
	h.now += []int64{1, 300, 1000, 1000, 3000, 5000, 9000}[h.pick(7)]
	return nil
}

func (h *history) reserve() error {
	h.events++
	req := slot.ReserveRequest{ID: fmt.Sprint("r", h.events), Fingerprint: "f", Owner: h.owner(), Immediate: h.pick(2) == 0, Submitted: time.UnixMilli(h.now)}
	if h.pick(6) == 0 {
		req.Deadline = time.UnixMilli(h.now + 20000)
	}
	res, err := h.store.Reserve(h.Context(), h.lane, req)
	if res.Ticket != 0 {
		h.tasks = append(h.tasks, slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: req.ID, Jitter: 1})
	}
	if res.Verdict == slot.Run {
		h.grants = append(h.grants, run{res.Grant, req.ID})
	}
	return err
}

// start starts any ticket, or the head.
func (h *history) start() error {
	req, ok := one(h, h.tasks)
	if !ok {
		return nil
	}
	state, _, err := h.store.Inspect(h.Context(), h.lane, "")
	if next := state.Next; err == nil && next.Ticket != 0 && h.pick(3) > 0 {
		req.Ticket, req.Request = next.Ticket, next.Request
	}
	if err != nil {
		return err
	}
	req.Owner = h.owner()
	got, err := h.store.Start(h.Context(), h.lane, req)
	if got.Verdict == slot.Run {
		h.grants = append(h.grants, run{got.Grant, req.Request})
	}
	return err
}

func (h *history) finish() error {
	g, ok := one(h, h.grants)
	if !ok {
		return nil
	}
	_, err := h.store.Finish(h.Context(), h.lane, slot.FinishRequest{
		Grant: g.Grant, Request: g.id, Reason: "status", Outcome: []slot.Outcome{slot.Accept, slot.Accept, slot.Retry, slot.GiveUp}[h.pick(4)],
		K: h.pick(3) - 1, Own: h.pick(2) == 0, Counts: true, Jitter: 1,
	})
	return err
}

func (h *history) renew() error {
	g, _ := one(h, h.grants)
	_, _, err := h.store.Renew(h.Context(), h.lane, g.Grant)
	return err
}

func (h *history) void() error {
	task, ok := one(h, h.tasks)
	if !ok {
		return nil
	}
	_, err := h.store.Void(h.Context(), h.lane, task.Request, task.Ticket, h.pick(2) == 0)
	return err
}

func (h *history) steer() (err error) {
	task, _ := one(h, h.tasks)
	switch h.pick(8) {
	case 0:
		_, err = h.store.Pause(h.Context(), h.lane, true)
	case 1, 2:
		_, err = h.store.Pause(h.Context(), h.lane, false)
	case 3:
		_, err = h.store.Cancel(h.Context(), h.lane, task.Request)
	case 4:
		_, err = h.store.Purge(h.Context(), h.lane)
	default:
		as := []slot.Resolution{slot.Redrive, slot.Skip, slot.ResolveRetry, slot.ResolveDone, slot.ResolveDead}[h.pick(5)]
		state, _, failed := h.store.Inspect(h.Context(), h.lane, "")
		if err = failed; err == nil && state.Next.Request != "" {
			_, err = h.store.Resolve(h.Context(), h.lane, state.Next.Request, as, h.owner())
		}
	}
	return err
}

// TestJournalsOfALaneVerify, whole and from any entry on.
func TestJournalsOfALaneVerify(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		if v := h.live(rapid.IntRange(10, 200).Draw(rt, "steps")); v != nil {
			rt.Fatal(v)
		}
		for i := range h.entries {
			if v := journal.Verify(h.entries[i:]); v != nil {
				rt.Fatalf("from entry %d on: %v", i, v)
			}
		}
	})
}

// corruptions change entry i of a journal that verifies, after which it must not.
var corruptions = map[string]struct {
	invariants []string
	change     func(list []journal.Entry, i int) []journal.Entry // nil where it does not apply to entry i
}{
	"a grant that is there twice": {
		[]string{journal.Whole, journal.Exclusion}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			return slices.Insert(list, i, list[i])
		}),
	},
	"a fence that was given": {
		[]string{journal.Exclusion}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			list[i].Fence--
			return list
		}),
	},
	"a grant that is missing": {
		[]string{journal.Effect, journal.Whole, journal.Exclusion, journal.Stand}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			if !slices.ContainsFunc(list[i+1:], func(e journal.Entry) bool { return e.Event == journal.Grant }) {
				return nil // the last: its end may be missing too
			}
			return slices.Delete(list, i, i+1)
		}),
	},
	"a lease too many": {
		[]string{journal.Exclusion}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			list[i].Live = list[i].Concurrency
			return list
		}),
	},
	"a grant on a paused lane": {
		[]string{journal.Held}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			return slices.Insert(list, i, journal.Entry{At: list[i].At, Event: journal.Pause})
		}),
	},
	"a grant of what has ended": {
		[]string{journal.Effect}, of(journal.Done, func(list []journal.Entry, i int) []journal.Entry {
			e := list[i]
			return slices.Insert(list, i+1, journal.Entry{
				At: e.At, Event: journal.Grant, Ticket: e.Ticket, Request: e.Request, Fence: e.Fence + 1, LeaseUntil: e.At + 1, Concurrency: 9,
			})
		}),
	},
	"an end by another fence": {
		[]string{journal.Effect}, of(journal.Done, func(list []journal.Entry, i int) []journal.Entry {
			list[i].Fence++
			return list
		}),
	},
	"an end that is there twice": {
		[]string{journal.Effect}, of(journal.Done, func(list []journal.Entry, i int) []journal.Entry {
			return slices.Insert(list, i, list[i])
		}),
	},
	"a ticket that skips one": {
		[]string{journal.Order}, of(journal.Reserve, func(list []journal.Entry, i int) []journal.Entry {
			list[i].Ticket++
			return list
		}),
	},
	"a ticket that is missing": {
		[]string{journal.Order, journal.Whole}, of(journal.Reserve, func(list []journal.Entry, i int) []journal.Entry {
			ticket := list[i].Ticket
			list = slices.Delete(list, i, i+1)
			if !slices.ContainsFunc(list[i:], func(e journal.Entry) bool { return e.Ticket >= ticket }) {
				return nil // nobody speaks of it again
			}
			return list
		}),
	},
	"a start before the pace": {
		[]string{journal.Pace}, of(journal.Grant, func(list []journal.Entry, i int) []journal.Entry {
			if !slices.ContainsFunc(list[:i], func(e journal.Entry) bool { return e.Event == journal.Grant }) {
				return nil
			}
			list[i].SpacingMS, list[i].Burst = 1<<40, 1
			return list
		}),
	},
	"time that falls": {
		[]string{journal.Clock}, func(list []journal.Entry, i int) []journal.Entry {
			if i == 0 || list[i].Event == journal.Begin {
				return nil
			}
			list[i].At = list[i-1].At - 1
			return list
		},
	},
}

// of applies a change to entries of one event.
func of(event journal.Event, change func([]journal.Entry, int) []journal.Entry) func([]journal.Entry, int) []journal.Entry {
	return func(list []journal.Entry, i int) []journal.Entry {
		if list[i].Event != event {
			return nil
		}
		return change(list, i)
	}
}

// TestEachCorruptionOfAJournalOfALaneIsNamed as a broken promise, wherever in a journal it is.
func TestEachCorruptionOfAJournalOfALaneIsNamed(t *testing.T) {
	t.Parallel()
	applied := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		if v := h.live(rapid.IntRange(10, 100).Draw(rt, "steps")); v != nil {
			rt.Fatal(v)
		}
		for _, name := range slices.Sorted(maps.Keys(corruptions)) {
			i := rapid.IntRange(0, max(0, len(h.entries)-1)).Draw(rt, name)
			if i == len(h.entries) {
				return
			}
			list := corruptions[name].change(slices.Clone(h.entries), i)
			if list == nil {
				continue
			}
			applied[name]++
			if v := journal.Verify(list); v == nil || !slices.Contains(corruptions[name].invariants, v.Invariant) {
				rt.Fatalf("%s at entry %d, %s: %v", name, i, h.entries[i], v)
			}
		}
	})
	for name := range corruptions {
		if applied[name] == 0 {
			t.Errorf("%s: never", name)
		}
	}
}

// TestAJournalTellsOfARuleThatIsMissing: a lane that lacks a rule writes a journal that does not verify.
func TestAJournalTellsOfARuleThatIsMissing(t *testing.T) {
	t.Parallel()
	for rule, invariants := range map[twin.Rule][]string{
		twin.NoOvertaking:         {journal.Order},
		twin.LiveBelowConcurrency: {journal.Exclusion},
		twin.Pace:                 {journal.Pace},
		twin.PaceOfTakeovers:      {journal.Pace},
		twin.HeadFirst:            {journal.Order, journal.Pace},
		twin.LapsedWaits:          {journal.Order},
		twin.RetryKeepsPlace:      {journal.Order},
		twin.FenceGrows:           {journal.Exclusion},
		twin.FenceAtFinish:        {journal.Effect},
		twin.TerminalStays:        {journal.Effect},
		twin.VoidNotLeased:        {journal.Exclusion},
		twin.PaceWhenGranted:      {journal.Pace},
		twin.GateNeverBack:        {journal.Pace},
		twin.TicketsGrow:          {journal.Order},
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			var found *journal.Violation
			for seed := 0; found == nil && seed < 2000; seed++ {
				rapid.Custom(func(rt *rapid.T) bool {
					found = newHistory(rt, rule).live(150)
					return true
				}).Example(seed)
			}
			if found == nil {
				t.Fatal("no journal tells")
			}
			if !slices.Contains(invariants, found.Invariant) {
				t.Errorf("%v, want %v", found, invariants)
			}
		})
	}
}
