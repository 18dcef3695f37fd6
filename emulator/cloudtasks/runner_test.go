package cloudtasks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

func TestAClockThatIsDrivenJumps30Days(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t, b.in(30*24*time.Hour))
	b.clock.Advance(30*24*time.Hour - time.Second)
	if s := b.server.Stats(); s.Dispatches != 0 {
		t.Fatalf("%d dispatches a second early", s.Dispatches)
	}
	b.clock.Advance(time.Second)
	b.target.next(t)
}

func TestAFailedTaskIsSentAgainAfterItsBackoff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *cloudtasks.Options) {
		o.Queues[0].RetryConfig = &cloudtaskspb.RetryConfig{MinBackoff: durationpb.New(10 * time.Second)}
	})
	b.target.answers <- http.StatusInternalServerError
	b.create(t)
	b.target.next(t)
	b.settle(t)
	b.clock.Advance(10*time.Second - 1)
	if s := b.server.Stats(); s.Dispatches != 1 || s.Failed != 1 {
		t.Fatalf("stats %+v", s.Stats)
	}
	b.clock.Advance(1)
	if r := b.target.next(t); r.Header.Get("X-CloudTasks-TaskPreviousResponse") != "500" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.target.answers <- http.StatusFound
	b.create(t)
	b.target.next(t)
	b.settle(t)
	if s := b.server.Stats(); s.Failed != 1 || s.Waiting != 1 {
		t.Errorf("stats %+v", s.Stats)
	}
}

// hanging is a target that answers nothing until its caller leaves.
func hanging(t *testing.T) (url string, arrived, left chan struct{}) {
	arrived, left = make(chan struct{}, 10), make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived, left
}

func to(url string) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.GetHttpRequest().Url, t.GetHttpRequest().Body = url, nil }
}

func TestTheDeadlineCancelsTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, arrived, left := hanging(t)
	b.create(t, to(url), func(t *cloudtaskspb.Task) { t.DispatchDeadline = durationpb.New(15 * time.Second) })
	<-arrived
	b.clock.Advance(15 * time.Second)
	<-left
	b.settle(t)
	if s := b.server.Stats(); s.Failed != 1 || s.InFlight != 0 {
		t.Errorf("stats %+v", s.Stats)
	}
}

func TestCloseCancelsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, arrived, left := hanging(t)
	b.create(t, to(url))
	<-arrived
	b.server.Close()
	<-left
	_, err := b.client.GetQueue(t.Context(), &cloudtaskspb.GetQueueRequest{Name: queueName}, gax.WithRetry(func() gax.Retryer { return nil }))
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestTheContextsEndStopsTheServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := cloudtasks.Start(ctx, cloudtasks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	server.Close() // waits for the end that the context began
	again, err := cloudtasks.Start(t.Context(), cloudtasks.Options{Addr: server.Addr()})
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	again.Close()
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, c := range map[string]struct {
		options cloudtasks.Options
		want    string
	}{
		"a taken port":            {cloudtasks.Options{Addr: b.server.Addr()}, "address already in use"},
		"every interface":         {cloudtasks.Options{Addr: ":0"}, "not a loopback address"},
		"another interface":       {cloudtasks.Options{Addr: "192.0.2.1:80"}, "not a loopback address"},
		"no port":                 {cloudtasks.Options{Addr: "127.0.0.1"}, "missing port"},
		"a queue that is refused": {cloudtasks.Options{Queues: []*cloudtaskspb.Queue{{Name: "q"}}}, `add queue "q"`},
	} {
		server, err := cloudtasks.Start(t.Context(), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", what, err, c.want)
		}
		if server != nil {
			server.Close()
		}
	}
}

func TestAnUnreachableTargetIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, url := range []string{"http://127.0.0.1:1/", "http://127.0.0.1:1/%zz", "http://"} {
		b.create(t, to(url))
	}
	b.settle(t)
	if s := b.server.Stats(); s.Failed != 3 || s.Waiting != 3 {
		t.Errorf("stats %+v", s.Stats)
	}
}

// Not parallel: it counts goroutines.
func TestWaitingTasksCostNoGoroutines(t *testing.T) {
	b := setup(t)
	b.create(t, b.in(time.Hour)) // connections are made
	before := runtime.NumGoroutine()
	for range 1000 {
		b.create(t, b.in(time.Hour))
	}
	if grown := runtime.NumGoroutine() - before; grown > 10 {
		t.Errorf("1000 waiting tasks have %d goroutines", grown)
	}
}

func TestManyCallersInRealTime(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	t.Cleanup(target.Close)
	b := setup(t, func(o *cloudtasks.Options) {
		o.Clock = nil
		o.Queues[0].RateLimits = &cloudtaskspb.RateLimits{MaxBurstSize: 10000, MaxConcurrentDispatches: 50}
	})
	ctx := t.Context()
	var callers sync.WaitGroup
	var deleted atomic.Int64
	for i := range 20 {
		callers.Go(func() {
			for j := range 20 {
				created, err := b.client.CreateTask(ctx, &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: &cloudtaskspb.Task{
					Name:        fmt.Sprintf("%s/tasks/%d-%d", queueName, i, j),
					MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: target.URL}},
				}})
				if err != nil {
					t.Error(err)
					return
				}
				if j%5 == 0 && b.client.DeleteTask(ctx, &cloudtaskspb.DeleteTaskRequest{Name: created.GetName()}) == nil {
					deleted.Add(1)
				}
				if _, err := b.client.ListTasks(ctx, &cloudtaskspb.ListTasksRequest{Parent: queueName}).Next(); err != nil && !errors.Is(err, iterator.Done) {
					t.Error(err)
				}
				_ = b.server.Stats()
			}
		})
	}
	callers.Wait()
	b.settle(t)
	s := b.server.Stats()
	if s.Created != 400 || s.Waiting != 0 || s.Completed+deleted.Load() < 400 || got.Load() != s.Dispatches {
		t.Errorf("%d requests, %d deleted, stats %+v", got.Load(), deleted.Load(), s)
	}
}

func BenchmarkCreate10000(b *testing.B) {
	server, err := cloudtasks.Start(b.Context(), cloudtasks.Options{Queues: []*cloudtaskspb.Queue{{Name: queueName}}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	client := newClient(b, server)
	for b.Loop() {
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for range 10000 / 16 {
					_, err := client.CreateTask(b.Context(), &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: &cloudtaskspb.Task{
						ScheduleTime: timestamppb.New(time.Now().Add(time.Hour)),
						MessageType:  &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: "http://127.0.0.1:1/", Body: make([]byte, 1000)}},
					}})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
	}
}
