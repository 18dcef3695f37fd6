package slot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// BenchmarkScripts times every script beside PING on the same connection. script-us/op is what Redis itself spent in it.
func BenchmarkScripts(b *testing.B) {
	rdb := redistest.Start(b).Client()
	ctx := context.Background()
	store := slot.New(rdb, slot.First, nil)
	lane := paced("bench")
	lane.Spacing, lane.MaxDepth, lane.Concurrency, lane.Attempts = 0, 1<<30, 1, 1<<30
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	reserve := func(immediate bool) slot.Reservation {
		n++
		req := ingest(fmt.Sprintf("r%d", n))
		req.Immediate = immediate
		res, err := store.Reserve(ctx, lane, req)
		must(err)
		return res
	}
	finish := func(g slot.Grant, id string) {
		_, err := store.Finish(ctx, lane, ended(g, id, slot.Accept))
		must(err)
	}
	measure := func(name string, op func()) {
		b.Run(name, func(b *testing.B) {
			rdb.ConfigResetStat(ctx)
			for b.Loop() {
				op()
			}
			b.ReportMetric(spent(rdb)/float64(b.N), "script-us/op")
		})
	}
	b.Run("ping", func(b *testing.B) {
		for b.Loop() {
			rdb.Ping(ctx)
		}
	})
	measure("reserve immediate, finish", func() { res := reserve(true); finish(res.Grant, fmt.Sprintf("r%d", n)) })
	running := reserve(true)
	next := fmt.Sprintf("r%d", n+1)
	measure("reserve", func() { reserve(false) })
	first := slot.StartRequest{
		Ticket: running.Ticket + 1, Incarnation: running.Incarnation, Request: next, Owner: "e", Left: slot.InlineWait, Jitter: 1,
	}
	measure("start, waits", func() { _, err := store.Start(ctx, lane, first); must(err) })
	measure("renew", func() { _, _, err := store.Renew(ctx, lane, running.Grant); must(err) })
	measure("inspect", func() { _, _, err := store.Inspect(ctx, lane, "r1"); must(err) })
	measure("confirm", func() {
		_, err := store.Confirm(ctx, lane, first.Request, first.Ticket, first.Incarnation)
		must(err)
	})
	measure("reserve, void", func() {
		res := reserve(false)
		_, err := store.Void(ctx, lane, fmt.Sprintf("r%d", n), res.Ticket, true)
		must(err)
	})
	measure("kick", func() { _, _, err := store.Kick(ctx, lane, running.Incarnation, 0, "owner"); must(err) })
	lane.Key, lane.BackoffMin, lane.BackoffMax = "bench of retries", 0, 0
	again := reserve(false)
	first.Ticket, first.Incarnation, first.Request = again.Ticket, again.Incarnation, fmt.Sprintf("r%d", n)
	measure("start, runs; finish, retry", func() {
		res, err := store.Start(ctx, lane, first)
		must(err)
		_, err = store.Finish(ctx, lane, ended(res.Grant, first.Request, slot.Retry))
		must(err)
	})
}

// spent is the time in microseconds that Redis spent in scripts since the last reset.
func spent(rdb *redis.Client) (us float64) {
	for line := range strings.Lines(rdb.Info(context.Background(), "commandstats").Val()) {
		var calls int
		var usec float64
		if name, rest, _ := strings.Cut(line, ":"); name == "cmdstat_evalsha" {
			_, _ = fmt.Sscanf(rest, "calls=%d,usec=%f", &calls, &usec)
		}
		us += usec
	}
	return us
}

// BenchmarkMemory reports what Redis spends on a request that waits, on one that has ended, and on a lane that is idle.
func BenchmarkMemory(b *testing.B) {
	rdb := redistest.Start(b).Client()
	ctx := context.Background()
	store := slot.New(rdb, slot.First, nil)
	const many = 2000
	used := func() (bytes float64) {
		for line := range strings.Lines(rdb.Info(ctx, "memory").Val()) {
			if value, ok := strings.CutPrefix(line, "used_memory:"); ok {
				_, _ = fmt.Sscan(value, &bytes)
			}
		}
		return bytes
	}
	measure := func(name string, op func(i int)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				rdb.FlushAll(ctx)
				op(0) // what is paid once
				before := used()
				for i := range many {
					op(i + 1)
				}
				b.ReportMetric((used()-before)/many, "bytes/one")
			}
		})
	}
	lane := paced("memory")
	lane.MaxDepth, lane.Spacing = many+1, 0
	reserve := func(lane slot.Lane, i int, immediate bool) slot.Reservation {
		req := ingest(fmt.Sprintf("%026d", i)) // as long as a request id
		req.Fingerprint, req.Owner, req.Immediate = strings.Repeat("f", 43), strings.Repeat("o", 22), immediate
		res, err := store.Reserve(ctx, lane, req)
		if err != nil {
			b.Fatal(err)
		}
		return res
	}
	end := func(lane slot.Lane, i, size int) slot.Record {
		req := ended(reserve(lane, i, true).Grant, fmt.Sprintf("%026d", i), slot.Accept)
		req.Response = []byte(strings.Repeat("r", size))
		res, err := store.Finish(ctx, lane, req)
		if err != nil {
			b.Fatal(err)
		}
		return res.Record
	}
	measure("waiting request", func(i int) { reserve(lane, i, false) })
	measure("ended request with a response of 1 KiB", func(i int) { end(lane, i, 1024) })
	measure("its tombstone, once it is durable elsewhere and its response gone", func(i int) {
		r := end(lane, i, 1024)
		if err := store.Flushed(ctx, lane, slot.FlushedRequest{ID: r.ID, Ticket: r.Ticket, Fence: r.Fence, Keyed: true}); err != nil {
			b.Fatal(err)
		}
		rdb.Del(ctx, slot.KeysOf(lane.Key).Response(r.ID)) // as 15 minutes do
	})
	measure("idle lane, with the record of its last request", func(i int) {
		idle := lane
		idle.Key = fmt.Sprintf("tenant-%d:product-7", i)
		end(idle, i, 0)
	})
}
