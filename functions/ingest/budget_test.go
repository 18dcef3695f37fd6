package ingest_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// trips counts round trips of a Redis client.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

// The budget of DESIGN.md, section 5.
func TestTheBudgetOfARequest(t *testing.T) {
	t.Parallel()
	type cost struct {
		Redis int64
		Queue int
		// Puts and Gets are calls of the durable records. Redis was never lost: an id that it does not know is new.
		Puts, Gets int64
	}
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		// Scripts are loaded once per server; that is no request's cost.
		b.submit("lane-warm", once("k"))
		b.submit("lane-warm", async, once("l"))
		b.submit("lane-warm", async, once("l"))
		b.get("/v1/lanes/lane-warm")
		count := &trips{}
		rdb.AddHook(count)
		measure := func(f func()) cost {
			count.n.Store(0)
			b.records.puts.Store(0)
			b.records.gets.Store(0)
			tasks := b.queue.count()
			f()
			return cost{count.n.Load(), b.queue.count() - tasks, b.records.puts.Load(), b.records.gets.Load()}
		}
		// Nothing becomes due while the test lasts: an overdue head costs a look.
		wantDone := func() { wantStatus(t, b.submit("paced-a", once("k")), 200, "done") }
		wantQueued := func() { wantAccepted(t, b.submit("paced-a", async, once("l"))) }
		got := map[string]cost{
			"1 idle lane":                 measure(wantDone),
			"2 duplicate of a finished":   measure(wantDone),
			"3 queued":                    measure(wantQueued),
			"4 duplicate, not confirmed":  measure(wantQueued),
			"5 duplicate, confirmed":      measure(wantQueued),
			"6 duplicate, confirmed more": measure(wantQueued),
			"7 lane state":                measure(func() { b.get("/v1/lanes/paced-a") }),
		}
		want := map[string]cost{
			"1 idle lane":                 {3, 0, 1, 0},
			"2 duplicate of a finished":   {1, 0, 0, 0},
			"3 queued":                    {1, 1, 0, 0},
			"4 duplicate, not confirmed":  {2, 1, 0, 0},
			"5 duplicate, confirmed":      {1, 0, 0, 0},
			"6 duplicate, confirmed more": {1, 0, 0, 0},
			"7 lane state":                {1, 0, 0, 0},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cost (-want +got):\n%s", diff)
		}
	})
}

func TestIntervalsAreExchangedWhereTheyAreUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked []string
	b.config.Exchange = func(_ context.Context, policy string) error {
		asked = append(asked, policy)
		return fmt.Errorf("get: %w", errCut)
	}
	b = b.elsewhere()
	b.submit("lane-a")
	b.submit("paced-a", async)
	if diff := cmp.Diff([]string{"paced-*"}, asked); diff != "" {
		t.Errorf("exchanged (-want +got):\n%s", diff)
	}
}
