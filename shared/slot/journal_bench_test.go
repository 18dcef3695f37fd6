package slot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// BenchmarkJournal runs requests on a lane with its journal and on one without, in turns: cpu-ratio is what Redis' thread spends on the
// former over what it spends on the latter.
func BenchmarkJournal(b *testing.B) {
	rdb := redistest.Start(b).Client()
	ctx := context.Background()
	const turn = 100
	for name, immediate := range map[string]bool{"reserve immediate, finish": true, "reserve, start, finish": false} {
		b.Run(name, func(b *testing.B) {
			spent := map[bool]float64{}
			stores := map[bool]*slot.Store{}
			for _, journal := range []bool{true, false} {
				var edits []slottest.Edit
				if !journal {
					edits = []slottest.Edit{
						{Old: "local function note(event, t, id, reason, ...)\n", New: "local function note()\n  do return end\n  local event, t, id, reason = '', 0, '', ''\n"},
						{Old: "local more = { ... }", New: "local more = {}"}}
				}
				clock := slottest.NewClock(rdb, edits...)
				clock.After = func() { clock.Advance(time.Millisecond) }
				stores[journal] = slot.New(clock, slot.First, nil)
			}
			must := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				for journal, store := range stores {
					lane := paced(fmt.Sprint("journal ", journal))
					lane.Spacing = 0
					before := busy(rdb)
					for range turn {
						n++
						req := ingest(fmt.Sprintf("%026d", n))
						req.Immediate = immediate
						res, err := store.Reserve(ctx, lane, req)
						must(err)
						grant := res.Grant
						if !immediate {
							started, err := store.Start(ctx, lane, slot.StartRequest{
								Ticket: res.Ticket, Incarnation: res.Incarnation, Request: req.ID, Owner: "e", Left: slot.InlineWait, Jitter: 1,
							})
							must(err)
							grant = started.Grant
						}
						_, err = store.Finish(ctx, lane, ended(grant, req.ID, slot.Accept))
						must(err)
					}
					spent[journal] += busy(rdb) - before
				}
			}
			b.ReportMetric(spent[true]/spent[false], "cpu-ratio")
			b.ReportMetric(spent[true]/float64(b.N*turn)*1e6, "cpu-us/request")
		})
	}
}

// busy is the processor time in seconds that Redis' main thread has spent.
func busy(rdb *redis.Client) (seconds float64) {
	for line := range strings.Lines(rdb.Info(context.Background(), "cpu").Val()) {
		if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "_main_thread") {
			var s float64
			_, _ = fmt.Sscan(value, &s)
			seconds += s
		}
	}
	return seconds
}
