package walkthrough

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/sample"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// lanes runs several lanes of one stack side by side.
type lanes struct {
	stack *stack.Stack
	lane  map[string]*runner
	mu    sync.Mutex
	seen  map[string][]*request
}

func startLanes(t *testing.T, instances int, policies string, keys ...string) *lanes {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{
		Redis: redistest.Start(t).URL(), Instances: instances,
		Config: func(base string) string { return strings.ReplaceAll(policies, "BASE", base) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	connections := pool()
	t.Cleanup(connections.CloseIdleConnections)
	client := &http.Client{Transport: openapitest.Transport(t, connections)}
	l := &lanes{stack: s, lane: map[string]*runner{}, seen: map[string][]*request{}}
	for _, key := range keys {
		l.lane[key] = &runner{Options: Options{Key: key}, base: s.URL, client: client, out: t.Output()}
	}
	return l
}

func (l *lanes) submit(ctx context.Context, key string, i int) error {
	q, err := l.lane[key].submit(ctx, i)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[key] = append(l.seen[key], q)
	return nil
}

// settle waits until all requests have ended and reads their states.
func (l *lanes) settle(t *testing.T) {
	t.Helper()
	for key, requests := range l.seen {
		l.lane[key].Requests = len(requests)
		if err := l.lane[key].await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.lane[key].readAll(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
		for _, q := range requests {
			if q.state.Status != "done" {
				t.Errorf("%s: request %s is %s, want done", key, q.id, q.state.Status)
			}
		}
		if calls := l.stack.Sample.List(key); len(calls) != len(requests) {
			t.Errorf("%s: %d runs of %d requests", key, len(calls), len(requests))
		}
	}
}

func (l *lanes) byStart(key string) []*request {
	return slices.SortedFunc(slices.Values(l.seen[key]), func(a, b *request) int {
		return cmp.Or(a.state.Started.Compare(b.state.Started), cmp.Compare(a.state.Ticket, b.state.Ticket))
	})
}

func names(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return keys
}

func TestTwoInstancesOfEachFunctionKeepEveryPromise(t *testing.T) {
	t.Parallel()
	const perKey, submitters = 100, 16
	keys := names("tenant-", 20)
	l := startLanes(t, 2, "targets: {sample: {url: BASE/sample}}\nlanes: [{match: '*', target: sample, spacing: 5ms}]\n", keys...)
	type job struct {
		key string
		i   int
	}
	jobs := make(chan job, len(keys)*perKey)
	for _, n := range rand.Perm(len(keys) * perKey) {
		jobs <- job{keys[n%len(keys)], n / len(keys)}
	}
	close(jobs)
	var clients sync.WaitGroup
	for range submitters {
		clients.Go(func() {
			for j := range jobs {
				if err := l.submit(t.Context(), j.key, j.i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	l.settle(t)
	for _, key := range keys {
		overlap, close := neighbours(l.byStart(key), 5*time.Millisecond)
		order, atTarget := inversions(l.seen[key]), overlaps(l.stack.Sample.List(key))
		if overlap+close+order+atTarget != 0 {
			t.Errorf("%s: %d overlaps, %d at the target, %d starts too close, %d out of order", key, overlap, atTarget, close, order)
		}
	}
}

func TestConcurrencyAndBurstKeepTheirLimits(t *testing.T) {
	t.Parallel()
	const requests, spacing, burst = 120, 40 * time.Millisecond, 5
	l := startLanes(t, 2, `
targets: {sample: {url: 'BASE/sample?delay=25ms'}}
lanes:
- {match: three, target: sample, spacing: 0s, concurrency: 3}
- {match: burst, target: sample, spacing: 40ms, burst: 5, concurrency: 10}
`, "three", "burst")
	var clients sync.WaitGroup
	for i := range requests {
		for key := range l.lane {
			clients.Go(func() {
				if err := l.submit(t.Context(), key, i); err != nil {
					t.Error(err)
				}
			})
		}
	}
	clients.Wait()
	l.settle(t)
	if got := most(l.stack.Sample.List("three")); got > 3 {
		t.Errorf("concurrency 3: %d at once at the target", got)
	}
	// Generic cell rate: start i may be at most burst-1 spacings ahead of an even pace.
	var arrival time.Time
	for i, q := range l.byStart("burst") {
		if ahead := arrival.Sub(q.state.Started); ahead > (burst-1)*spacing {
			t.Errorf("start %d: %s ahead of the pace, the burst allows %s", i, ahead, (burst-1)*spacing)
		}
		if arrival.Before(q.state.Started) {
			arrival = q.state.Started
		}
		arrival = arrival.Add(spacing)
	}
	for key := range l.lane {
		if order := inversions(l.seen[key]); order != 0 {
			t.Errorf("%s: %d out of order", key, order)
		}
	}
}

// most is the greatest number of calls at the target at one time.
func most(calls []sample.Record) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, c := range calls {
		edges = append(edges, edge{c.Started, 1}, edge{c.Finished, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

func TestALongLaneDoesNotHoldUpQuietOnes(t *testing.T) {
	t.Parallel()
	const quiet, each, noisy = 100, 3, 2000
	keys := append(names("quiet-", quiet), "noisy")
	wait := func(noise int) time.Duration {
		l := startLanes(t, 1, `
targets: {sample: {url: BASE/sample}, slow: {url: 'BASE/sample?delay=300ms'}}
lanes:
- {match: noisy, target: slow, spacing: 0s}
- {match: '*', target: sample, spacing: 100ms}
`, keys...)
		var clients sync.WaitGroup
		work := make(chan int, noise)
		for i := range noise {
			work <- i
		}
		close(work)
		for range 16 {
			clients.Go(func() {
				for i := range work {
					if err := l.submit(t.Context(), "noisy", i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		clients.Wait()
		for i := range each {
			for _, key := range keys[:quiet] {
				clients.Go(func() {
					if err := l.submit(t.Context(), key, i); err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
		}
		delete(l.seen, "noisy") // it goes on for ten minutes: nobody waits for it
		total := 0
		for _, requests := range l.seen {
			total += len(requests)
		}
		until(t, func() bool { return l.quietDone() >= total })
		var waits []time.Duration
		for key, requests := range l.seen {
			if err := l.lane[key].readAll(t.Context(), requests); err != nil {
				t.Fatal(err)
			}
			for _, q := range requests {
				waits = append(waits, q.state.Started.Sub(q.sent))
			}
		}
		slices.Sort(waits)
		return waits[len(waits)*99/100]
	}
	without, with := wait(0), wait(noisy)
	t.Logf("99th percentile of the quiet lanes' wait: %s without the noisy lane, %s beside it", without, with)
	if waiters := with - without; with > 2*without && waiters > time.Second {
		t.Errorf("quiet lanes wait %s beside a noisy one, %s without: want less than twice that", with, without)
	}
}

// quietDone counts the calls of quiet lanes.
func (l *lanes) quietDone() int {
	n := 0
	for _, c := range l.stack.Sample.List("") {
		if strings.HasPrefix(c.Key, "quiet-") {
			n++
		}
	}
	return n
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended before")
		}
	}
}
