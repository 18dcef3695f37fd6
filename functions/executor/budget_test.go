package executor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// commands counts what a client sends.
type commands struct{ n atomic.Int64 }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.n.Add(1); return next(ctx, cmd) }
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

func TestBudgetOfADelivery(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		f := setup(t, rdb, "spacing: 300ms, durable: false")
		warm := f.submit("warm") // loads the scripts
		if got := f.Deliver(t.Context(), warm); got != http.StatusOK {
			t.Fatal(got)
		}
		count := &commands{}
		rdb.AddHook(count)
		cost := func(name string, want int64, e taskqueue.Envelope) {
			t.Helper()
			before, gets := count.n.Load(), f.queue.gets
			if got := f.Deliver(t.Context(), e); got != http.StatusOK {
				t.Fatalf("%s: %d", name, got)
			}
			if got := count.n.Load() - before; got > want {
				t.Errorf("%s: %d Redis calls, want at most %d", name, got, want)
			}
			if got := f.queue.gets - gets; got != 0 {
				t.Errorf("%s: %d calls of the queue, want none", name, got)
			}
		}
		early := f.submit("early")
		cost("early and waiting: start, start, finish", 3, early)
		late := f.submit("late")
		until(t, func() bool {
			s, _, err := f.slots.Inspect(t.Context(), f.lane.Slot, "")
			return err == nil && s.Next.At <= s.Now
		})
		cost("runnable on arrival: start, finish", 2, late)
		cost("a duplicate of what is done: start", 1, late)
	})
}

// until polls; the server's clock is the wall clock here.
func until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended before")
		}
	}
}

// counting counts START calls, and how many deliveries wait inline at one time: from their Listen to their end.
type counting struct {
	Slots
	Wakes
	starts, waiting, most atomic.Int64
	tickets               sync.Map // whose deliveries have listened
}

func (c *counting) Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error) {
	c.starts.Add(1)
	return c.Slots.Start(ctx, l, req)
}

func (c *counting) Listen(key string, ticket int64) *slot.Listener {
	c.tickets.Store(ticket, nil)
	n := c.waiting.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return c.Wakes.Listen(key, ticket)
}

func TestAHerdCostsFewCallsAndFewWaiters(t *testing.T) {
	t.Parallel()
	const herd = 200
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		f := setup(t, rdb, "spacing: 0s")
		c := &counting{Slots: f.slots, Wakes: f.Wakes}
		f.Slots, f.Wakes = c, c
		f.behave = func(context.Context, target.Request) (target.Response, error) {
			time.Sleep(10 * time.Millisecond) // the work of a handler
			return target.Response{}, nil
		}
		var deliveries sync.WaitGroup
		// Cloud Tasks of this test: all tasks at once, however early they are; successors when they are due.
		dispatch := func(e taskqueue.Envelope) {
			if got := f.Deliver(t.Context(), e); got != http.StatusOK {
				t.Errorf("%s: %d", e.ID, got)
			}
			if _, waited := c.tickets.LoadAndDelete(e.Ticket); waited {
				c.waiting.Add(-1)
			}
		}
		f.queue.onCreate = func(task taskqueue.Task) {
			deliveries.Go(func() {
				timer := time.NewTimer(time.Until(task.At))
				defer timer.Stop()
				select {
				case <-timer.C:
					dispatch(task.Envelope)
				case <-t.Context().Done():
				}
			})
		}
		for i := range herd {
			e := f.reserve(fmt.Sprintf("r%d", i))
			if _, err := f.queue.Create(t.Context(), taskqueue.Task{
				ID: taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, 0), Envelope: e,
			}); err != nil {
				t.Fatal(err)
			}
		}
		deliveries.Wait()
		if runs := len(f.calls); runs != herd {
			t.Errorf("%d runs of %d requests", runs, herd)
		}
		last := int64(0)
		for range len(f.calls) {
			call := <-f.calls
			if call.Ticket < last {
				t.Errorf("ticket %d ran after %d", call.Ticket, last)
			}
			last = call.Ticket
		}
		per := float64(c.starts.Load()) / herd
		t.Logf("%.2f START calls per request, %d snoozes, %d drives", per, f.events(Snoozed), f.events(Drove))
		if per > 4 {
			t.Errorf("%.2f START calls per request, want at most 4", per)
		}
		// Concurrency + 32 is what the design lets a lane hold of the queue's concurrent dispatches; some more have waited, and run,
		// drive or are on their way out.
		if got := c.most.Load(); got > 40 {
			t.Errorf("%d inline waiters at once, want at most 33 and a few", got)
		}
	})
}
