package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

// bench is a Stack on a real Redis whose target is work.
type bench struct {
	*testing.B
	stack  *stack.Stack
	client *http.Client
}

func newBench(b *testing.B, work target.Func) *bench {
	b.Helper()
	functions := &target.Set{}
	functions.Register("work", work)
	s, err := stack.Start(b.Context(), stack.Options{Redis: redistest.Start(b).URL(), Functions: functions, Config: func(string) string {
		return "targets: {work: {url: 'http://work.example'}}\n" +
			"lanes: [{match: 'later*', target: work, spacing: 1m, respond: async, max_depth: 100000}, {match: '*', target: work, spacing: 0s, max_depth: 100000}]\n"
	}})
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return &bench{b, s, client}
}

// submit sends one request and wants one of the statuses.
func (b *bench) submit(key string, statuses ...int) {
	resp, err := b.client.Post(b.stack.URL+"/v1/lanes/"+key+"/requests", "text/plain", strings.NewReader("x")) //nolint:noctx // a benchmark
	if err != nil {
		b.Error(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !slices.Contains(statuses, resp.StatusCode) {
		b.Errorf("%s: status %d, want one of %v: %s", key, resp.StatusCode, statuses, bytes.TrimSpace(body))
	}
}

func noop(context.Context, target.Request) (target.Response, error) { return target.Response{}, nil }

// BenchmarkSubmit is one client after another that submits to lanes which queue: reserve and CreateTask.
func BenchmarkSubmit(b *testing.B) {
	s, n := newBench(b, noop), 0
	for b.Loop() {
		n++
		s.submit(fmt.Sprintf("later-%d", n%100), http.StatusAccepted)
	}
}

// BenchmarkExecute is one client after another on an idle lane: reserve, the target, finish, and the target's answer.
func BenchmarkExecute(b *testing.B) {
	s := newBench(b, noop)
	for b.Loop() {
		s.submit("idle", http.StatusOK)
	}
}

// BenchmarkHandOver has 2,000 requests wait on one lane, and then start one after another. A hand-over is from the end of one call
// of the target to the begin of the next, by the target's clock.
func BenchmarkHandOver(b *testing.B) {
	const waiting = 2000
	for b.Loop() {
		var mu sync.Mutex
		var begins, ends []time.Time
		runs, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s := newBench(b, func(context.Context, target.Request) (target.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			begins = append(begins, time.Now())
			if len(begins) == 1 {
				close(runs)
				<-goOn
			}
			ends = append(ends, time.Now())
			if len(ends) == waiting {
				close(done)
			}
			return target.Response{}, nil
		})
		go s.submit("hot", http.StatusOK)
		<-runs
		s.submitAll(waiting-1, func(int) string { return "hot" }, http.StatusAccepted)
		close(goOn)
		<-done
		took := make([]time.Duration, 0, waiting)
		for i := range ends[:waiting-1] {
			took = append(took, begins[i+1].Sub(ends[i]))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
	}
}

// BenchmarkManyLanes has 16 clients submit 10,000 requests over 100 keys, all on this machine, and waits until all have ended.
func BenchmarkManyLanes(b *testing.B) {
	const requests, keys = 10_000, 100
	for b.Loop() {
		var ended atomic.Int64
		done := make(chan struct{})
		s := newBench(b, func(context.Context, target.Request) (target.Response, error) {
			if ended.Add(1) == requests {
				close(done)
			}
			return target.Response{}, nil
		})
		order, began := rand.Perm(requests), time.Now()
		s.submitAll(requests, func(i int) string { return fmt.Sprintf("key-%d", order[i]%keys) }, http.StatusOK, http.StatusAccepted)
		submitted := time.Since(began)
		<-done
		b.ReportMetric(requests/time.Since(began).Seconds(), "requests/s")
		b.ReportMetric(requests/submitted.Seconds(), "submitted/s")
		b.ReportMetric(float64(s.stack.Stats().Dispatches)/requests, "dispatches/request")
		b.ReportMetric(float64(s.stack.Stats().RedisCommands)/requests, "redis-calls/request")
	}
}

// submitAll sends n requests with 16 clients.
func (b *bench) submitAll(n int, key func(i int) string, statuses ...int) {
	var clients sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				b.submit(key(int(i)), statuses...)
			}
		})
	}
	clients.Wait()
}
