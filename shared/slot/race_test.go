package slot_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// crowd is executors that contend for one lane in real time.
type crowd struct {
	store *slot.Store
	hub   *slot.Hub
	lane  slot.Lane

	mu     sync.Mutex
	grants []grant
}

// grant is a run as Redis timed it.
type grant struct {
	slot.Grant
	request    string
	start, end int64
}

func newCrowd(t *testing.T, lane slot.Lane) *crowd {
	t.Helper()
	lane.MaxDepth, lane.Lease = 1000, time.Minute
	rdb := redistest.Start(t).Client()
	hub := slot.NewHub(rdb)
	t.Cleanup(func() { _ = hub.Close() })
	return &crowd{store: slot.New(rdb, slot.First, nil), hub: hub, lane: lane}
}

// submit reserves n requests in order.
func (c *crowd) submit(t *testing.T, n int) []slot.StartRequest {
	t.Helper()
	var tasks []slot.StartRequest
	for _, id := range many(n) {
		res, err := c.store.Reserve(t.Context(), c.lane, ingest(id))
		if err != nil || res.Verdict != slot.Reserved {
			t.Fatalf("reserve: %s, %v", res.Verdict, err)
		}
		tasks = append(tasks, slot.StartRequest{
			Ticket: res.Ticket, Incarnation: res.Incarnation, Request: id, Owner: "executor of " + id, Left: slot.InlineWait, Jitter: 1,
		})
	}
	return tasks
}

// serve has one executor per task, all at once. A handler renews its lease up to work times, and that is its work.
func (c *crowd) serve(t *testing.T, tasks []slot.StartRequest, work int) []grant {
	t.Helper()
	var g errgroup.Group
	for _, task := range tasks {
		g.Go(func() error { return c.execute(t, task, rand.IntN(work)) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(c.grants, func(a, b grant) int { return cmp.Compare(a.Fence, b.Fence) })
	return c.grants
}

// execute calls START when it is woken, when its wait is over, and every poll interval, until it may run.
func (c *crowd) execute(t *testing.T, task slot.StartRequest, work int) error {
	listener := c.hub.Listen(c.lane.Key, task.Ticket)
	defer listener.Close()
	for {
		res, err := c.store.Start(t.Context(), c.lane, task)
		switch {
		case err != nil:
			return err
		case res.Verdict == slot.Run:
			return c.work(t, res, task.Request, work)
		case res.Verdict != slot.Wait && res.Verdict != slot.Snoozed:
			return fmt.Errorf("start: %s", res.Verdict)
		}
		wait := slot.Poll
		if res.Reason == "pace" {
			wait = min(wait, res.Seen.Until(res.Until))
		}
		select {
		case <-listener.C:
		case <-time.After(wait):
		}
	}
}

func (c *crowd) work(t *testing.T, res slot.Started, request string, work int) error {
	for range work {
		if _, ok, err := c.store.Renew(t.Context(), c.lane, res.Grant); !ok || err != nil {
			return fmt.Errorf("renew: %t, %w", ok, err)
		}
	}
	end, err := c.store.Finish(t.Context(), c.lane, ended(res.Grant, request, slot.Accept))
	if err != nil || end.Verdict != slot.OK {
		return fmt.Errorf("finish: %s, %w", end.Verdict, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grants = append(c.grants, grant{res.Grant, request, res.Now, end.Now})
	return nil
}

// check shows the grants, in the order of their fences, to an oracle that knows the invariants.
func (c *crowd) check(t *testing.T, grants []grant, tasks []slot.StartRequest) {
	t.Helper()
	oracle := slottest.NewOracle(c.lane)
	for _, task := range tasks {
		oracle.Arrives(task.Request)
		oracle.Reserved(task.Request, slot.Reservation{Verdict: slot.Reserved, Ticket: task.Ticket})
	}
	var running []grant
	finish := func(until int64) {
		running = slices.DeleteFunc(running, func(g grant) bool {
			if g.end > until {
				return false
			}
			oracle.Finished(ended(g.Grant, g.request, slot.Accept), slot.Finished{Verdict: slot.OK, Outcome: slot.Accept})
			return true
		})
	}
	for _, g := range grants {
		finish(g.start)
		oracle.Granted(g.request, g.Grant, g.start)
		running = append(running, g)
	}
	if err := oracle.Err(); err != nil {
		t.Error(err)
	}
	if len(grants) != len(tasks) {
		t.Errorf("%d grants for %d tickets", len(grants), len(tasks))
	}
}

// TestHundredExecutors contend for a lane, on Redis' own clock.
func TestHundredExecutors(t *testing.T) {
	t.Parallel()
	for name, lane := range map[string]slot.Lane{
		"one at a time":             {Concurrency: 1, Burst: 1},
		"three at a time":           {Concurrency: 3, Burst: 1},
		"strictly paced":            {Concurrency: 1, Burst: 1, Spacing: 11 * time.Millisecond},
		"paced with a burst of 5":   {Concurrency: 1, Burst: 5, Spacing: 9 * time.Millisecond},
		"three at a time and paced": {Concurrency: 3, Burst: 2, Spacing: 6 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := paced(name)
			policy.Concurrency, policy.Burst, policy.Spacing = lane.Concurrency, lane.Burst, lane.Spacing
			c := newCrowd(t, policy)
			tasks := c.submit(t, 100)
			c.check(t, c.serve(t, tasks, 6), tasks)
		})
	}
}

// TestOneRunAmongRivals sends 64 deliveries of one ticket at once, and 64 reservations of one request.
func TestOneRunAmongRivals(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, paced("rivals"))
	tasks := c.submit(t, 1)
	count := func(call func(owner string) (slot.Verdict, error)) map[slot.Verdict]int {
		var mu sync.Mutex
		verdicts := map[slot.Verdict]int{}
		var g errgroup.Group
		for i := range 64 {
			g.Go(func() error {
				v, err := call(fmt.Sprint("rival ", i))
				mu.Lock()
				defer mu.Unlock()
				verdicts[v]++
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		return verdicts
	}
	started := count(func(owner string) (slot.Verdict, error) {
		task := tasks[0]
		task.Owner = owner
		res, err := c.store.Start(t.Context(), c.lane, task)
		return res.Verdict, err
	})
	if started[slot.Run] != 1 || started[slot.Wait] != 63 {
		t.Errorf("verdicts of START %v, want one RUN and 63 WAIT", started)
	}
	c.lane.Key = "rival ingests"
	reserved := count(func(owner string) (slot.Verdict, error) {
		req := ingest("a")
		req.Owner, req.Immediate = owner, true
		res, err := c.store.Reserve(t.Context(), c.lane, req)
		return res.Verdict, err
	})
	if reserved[slot.Run] != 1 || reserved[slot.Duplicate] != 63 {
		t.Errorf("verdicts of RESERVE %v, want one RUN and 63 DUP", reserved)
	}
}

// TestNoRunAfterOK races late deliveries of a ticket with its finish: whoever starts after finish said OK must not run.
func TestNoRunAfterOK(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, paced("late"))
	c.lane.Spacing = 0
	for _, task := range c.submit(t, 200) {
		g, err := c.store.Start(t.Context(), c.lane, task)
		if err != nil || g.Verdict != slot.Run {
			t.Fatalf("start: %s, %v", g.Verdict, err)
		}
		var race errgroup.Group
		for i := range 3 {
			race.Go(func() error {
				twin := task
				twin.Owner = fmt.Sprint("twin ", i)
				res, err := c.store.Start(t.Context(), c.lane, twin)
				if res.Verdict == slot.Run {
					return errors.New("a twin runs")
				}
				return err
			})
		}
		race.Go(func() error {
			res, err := c.store.Finish(t.Context(), c.lane, ended(g.Grant, task.Request, slot.Accept))
			if res.Verdict != slot.OK {
				return fmt.Errorf("finish: %s, %w", res.Verdict, err)
			}
			return err
		})
		if err := race.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
