package walkthrough

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seriatim/seriatim/emulator/sample"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/journal"
)

// Report is what a run came to.
type Report struct {
	Options
	// Completed counts requests that ended with a result.
	Completed int
	// Queued counts requests for which a task was created.
	Queued int
	// Runs are the calls of the target.
	Runs int
	// Order, Overlap and Pace count violations; Repeated counts runs beyond the first without a failure that asked for them.
	Order, Overlap, Pace, Repeated int
	// Dispatches are those made, and the tasks still waiting at the end, each of which will be dispatched once.
	Dispatches int64
	// Snoozes, Drives and RedisCommands are the stack's counts.
	Snoozes, Drives, RedisCommands int64
	// Makespan is from the first start to the last, Ideal what it would be without any loss.
	Makespan, Ideal time.Duration
	// Transitions are those in the lane's journal at the end, Violation the first that breaks a promise, or nil.
	Transitions int
	Violation   *journal.Violation
}

func (r *runner) report(requests []*request, calls []sample.Record, end stack.Stats) Report {
	rep := Report{
		Options: r.Options, Runs: len(calls),
		Dispatches:    end.Dispatches - r.start.Dispatches + end.TasksWaiting - r.start.TasksWaiting,
		Snoozes:       end.Snoozes - r.start.Snoozes,
		Drives:        end.Drives - r.start.Drives,
		RedisCommands: end.RedisCommands - r.start.RedisCommands,
	}
	for _, q := range requests {
		if q.state.Status == "done" {
			rep.Completed++
		}
		if q.queued {
			rep.Queued++
		}
	}
	rep.Order = inversions(requests)
	rep.Repeated = max(0, len(calls)-rep.Completed)
	byStart := slices.SortedFunc(slices.Values(requests), func(a, b *request) int {
		return cmp.Or(a.state.Started.Compare(b.state.Started), cmp.Compare(a.state.Ticket, b.state.Ticket))
	})
	rep.Overlap, rep.Pace = neighbours(byStart, r.Spacing)
	rep.Overlap += overlaps(calls)
	rep.Makespan = byStart[len(byStart)-1].state.Started.Sub(byStart[0].state.Started)
	rep.Ideal = time.Duration(len(requests)-1) * r.Spacing
	if r.Spacing == 0 {
		rep.Makespan = byStart[len(byStart)-1].state.Finished.Sub(byStart[0].state.Started)
		for _, c := range calls {
			rep.Ideal += c.Finished.Sub(c.Started)
		}
	}
	return rep
}

// inversions counts requests that started before one that had been acknowledged before they were sent.
func inversions(requests []*request) int {
	bySent := slices.SortedFunc(slices.Values(requests), func(a, b *request) int { return a.sent.Compare(b.sent) })
	byAck := slices.SortedFunc(slices.Values(requests), func(a, b *request) int { return a.acked.Compare(b.acked) })
	var latest time.Time // the latest start among requests acknowledged so far
	count, next := 0, 0
	for _, q := range bySent {
		for ; next < len(byAck) && byAck[next].acked.Before(q.sent); next++ {
			if s := byAck[next].state.Started; s.After(latest) {
				latest = s
			}
		}
		if q.state.Started.Before(latest) {
			count++
		}
	}
	return count
}

// neighbours counts grants before the one before had finished, and grants closer than the spacing, both in Redis time.
func neighbours(byStart []*request, spacing time.Duration) (overlap, close int) {
	for i := 1; i < len(byStart); i++ {
		before, q := byStart[i-1].state, byStart[i].state
		if q.Started.Before(before.Finished) {
			overlap++
		}
		if q.Started.Sub(before.Started) < spacing {
			close++
		}
	}
	return overlap, close
}

// overlaps counts calls of the target that began before the one before had ended.
func overlaps(calls []sample.Record) int {
	byStart := slices.SortedFunc(slices.Values(calls), func(a, b sample.Record) int { return a.Started.Compare(b.Started) })
	count := 0
	for i := 1; i < len(byStart); i++ {
		if byStart[i].Started.Before(byStart[i-1].Finished) {
			count++
		}
	}
	return count
}

// Ratio is dispatches per queued request.
func (r Report) Ratio() float64 { return float64(r.Dispatches) / float64(max(1, r.Queued)) }

// Stretch is the makespan over the ideal one.
func (r Report) Stretch() float64 { return float64(r.Makespan) / float64(max(1, r.Ideal)) }

// Err says which promises were broken, nil for none.
func (r Report) Err() error {
	var errs []error
	for _, broken := range []struct {
		count int
		what  string
	}{
		{r.Requests - r.Completed, "requests not completed"}, {r.Order, "requests out of order"}, {r.Overlap, "overlaps"},
		{r.Pace, "starts too close"}, {r.Repeated, "runs repeated"},
	} {
		if broken.count != 0 {
			errs = append(errs, fmt.Errorf("promise broken: %d %s", broken.count, broken.what))
		}
	}
	if r.Violation != nil {
		errs = append(errs, fmt.Errorf("promise broken: the journal says %w", r.Violation))
	}
	return errors.Join(errs...)
}

// Table shows the report to a person.
func (r Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w)
	row("completed", "%d of %d, each run once (%d runs)", r.Completed, r.Requests, r.Runs)
	row("order violations", "%d", r.Order)
	row("overlaps", "%d", r.Overlap)
	row("spacing violations", "%d (spacing %s)", r.Pace, r.Spacing)
	row("dispatches per queued request", "%.3f (%d for %d)", r.Ratio(), r.Dispatches, r.Queued)
	row("journal", "the last %d transitions, replayed", r.Transitions)
	row("makespan", "%s, %.3f of the ideal %s", r.Makespan.Round(time.Millisecond), r.Stretch(), r.Ideal.Round(time.Millisecond))
	row("snoozes, drives", "%d, %d", r.Snoozes, r.Drives)
	row("Redis commands per request", "%.1f", float64(r.RedisCommands)/float64(r.Requests))
	w.Flush()
	return b.String()
}
