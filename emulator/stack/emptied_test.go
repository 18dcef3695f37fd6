package stack_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiv2 "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/redis/go-redis/v9"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

const emptiedLease = 10 * time.Second

// emptied is three instances of each function on a real Redis that is about to be lost, with durable lanes.
type emptied struct {
	*stack.Stack
	t     *testing.T
	redis *redistest.Server

	queue   *apiv2.Client
	mu      sync.Mutex
	effects map[string][]string // by lane, in the order of the runs
	left    int
	done    chan struct{}        // closed when nothing is left
	first   map[string]time.Time // by lane: the first run since expect was called
}

func newEmptied(t *testing.T, redisArgs ...string) *emptied {
	t.Helper()
	e := &emptied{t: t, redis: redistest.Start(t, redisArgs...), effects: map[string][]string{}}
	work := &target.Set{}
	work.Register("work", e.work)
	var err error
	e.Stack, err = stack.Start(t.Context(), stack.Options{Redis: e.redis.URL(), Instances: 3, Functions: work, Config: func(string) string {
		return fmt.Sprintf("targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: '*', target: work, spacing: 0s, lease: %s, respond: async}]\n", emptiedLease)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	e.queue, err = apiv2.NewClient(t.Context(), option.WithEndpoint(e.TasksAddr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.queue.Close() })
	return e
}

func (e *emptied) work(_ context.Context, r target.Request) (target.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Contains(e.effects[r.Key], string(r.Body)) {
		if r.Attempt == 1 { // later ones follow a lease that was lost: this machine stood still for longer
			e.t.Errorf("%s: %s was done twice", r.Key, r.Body)
		}
		return target.Response{}, nil
	}
	e.effects[r.Key] = append(e.effects[r.Key], string(r.Body))
	if e.first[r.Key].IsZero() {
		e.first[r.Key] = time.Now()
	}
	if e.left--; e.left == 0 {
		close(e.done)
	}
	return target.Response{}, nil
}

// expect returns what is closed when so many more requests have been done.
func (e *emptied) expect(n int) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left, e.done, e.first = n, make(chan struct{}), map[string]time.Time{}
	return e.done
}

// submit sends requests to every lane, sixteen lanes at once and each lane's one after another; each is taken.
func (e *emptied) submit(lanes, from, to int) {
	e.t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	next := make(chan int)
	for range 16 {
		clients.Go(func() {
			for lane := range next {
				for i := from; i < to; i++ {
					e.take(client, fmt.Sprintf("lane-%d", lane), fmt.Sprint(i))
				}
			}
		})
	}
	for lane := range lanes {
		next <- lane
	}
	close(next)
	clients.Wait()
}

// take sends a request until it is taken: 503 says that Redis is away.
func (e *emptied) take(client *http.Client, key, body string) {
	for {
		r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.URL+"/v1/lanes/"+key+"/requests", strings.NewReader(body))
		if err != nil {
			e.t.Error(err)
			return
		}
		r.Header.Set("Idempotency-Key", key+"/"+body)
		resp, err := client.Do(r)
		if err != nil {
			e.t.Error(err)
			return
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK, http.StatusAccepted:
			return
		case http.StatusServiceUnavailable:
			time.Sleep(20 * time.Millisecond)
		default:
			e.t.Errorf("%s: %d %s, want 202", key, resp.StatusCode, text)
			return
		}
	}
}

func TestRedisIsEmptiedUnderFiveThousandWaitingRequests(t *testing.T) {
	t.Parallel()
	const lanes, each = 50, 100
	e := newEmptied(t)
	// The lanes learn that their runs take next to no time: tasks are planned close to one another.
	const warm = 10
	done := e.expect(lanes * warm)
	e.submit(lanes, 0, warm)
	<-done
	e.pause()
	e.submit(lanes, warm, warm+each)

	// Redis comes back empty. What is accepted from now on is for every lane the last.
	done = e.expect(lanes * (each + 1))
	lost := time.Now()
	e.redis.Restart()
	e.submit(lanes, warm+each, warm+each+1)
	e.resume()
	<-done
	t.Logf("all %d requests that waited in %d lanes, and those after them, are done %s after the loss; quarantine %s", lanes*each, lanes,
		time.Since(lost).Round(time.Millisecond), (emptiedLease * 4 / 3).Round(time.Millisecond))

	e.mu.Lock()
	defer e.mu.Unlock()
	back := slices.MaxFunc(slices.Collect(maps.Values(e.first)), time.Time.Compare)
	t.Logf("every lane ran again %s after the loss", back.Sub(lost).Round(time.Millisecond))
	inversions := 0
	for key, list := range e.effects {
		for i, body := range list {
			if i > 0 && len(list[i-1]) == len(body) && list[i-1] > body {
				inversions++
			}
		}
		if last := fmt.Sprint(warm + each); len(list) != warm+each+1 || list[len(list)-1] != last {
			t.Errorf("%s: %d effects, the last of %s; want %d, and %s after all that was accepted before the loss", key, len(list), list[len(list)-1], warm+each+1, last)
		}
	}
	t.Logf("%d neighbours among what waited are out of order", inversions)
}

// pause has no task delivered any more, and waits for those under way: a delivery goes on with what comes as long as it is there.
func (e *emptied) pause() {
	e.t.Helper()
	if _, err := e.queue.PauseQueue(e.t.Context(), &cloudtaskspb.PauseQueueRequest{Name: stack.Queue}); err != nil {
		e.t.Fatal(err)
	}
	await(e.t, "nobody drives a lane", func() bool { return e.Tasks.Stats().InFlight == 0 })
}

func (e *emptied) resume() {
	e.t.Helper()
	if _, err := e.queue.ResumeQueue(e.t.Context(), &cloudtaskspb.ResumeQueueRequest{Name: stack.Queue}); err != nil {
		e.t.Fatal(err)
	}
}

// A Redis that comes back from a snapshot shows requests as waiting that have been done since, and whose tasks are gone.
func TestRedisComesBackFromASnapshot(t *testing.T) {
	t.Parallel()
	const lanes, old, each = 5, 20, 50 // requests below old are done when the snapshot is loaded, and wait in it from warm on
	const warm = 10
	e := newEmptied(t, "--dir", t.TempDir())
	rdb := e.redis.Client()
	done := e.expect(lanes * warm)
	e.submit(lanes, 0, warm)
	<-done
	e.pause()
	e.submit(lanes, warm, old)
	_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error { // as if it were taken four minutes ago
		p.PExpire(t.Context(), generation.Key, rdb.PTTL(t.Context(), generation.Key).Val()-4*time.Minute)
		p.Save(t.Context())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	done = e.expect(lanes * (old - warm))
	e.resume()
	<-done
	e.pause()
	e.submit(lanes, old, each)

	done = e.expect(lanes * (each - old + 1))
	e.redis.Restart()
	e.submit(lanes, each, each+1)
	e.resume()
	<-done
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, list := range e.effects {
		if last := fmt.Sprint(each); len(list) != each+1 || list[each] != last {
			t.Errorf("%s: %d effects, the last of %s; want %d, and %s after all that was accepted before", key, len(list), list[len(list)-1], each+1, last)
		}
	}
}
