package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apiv2 "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seriatim/seriatim/emulator/stack"
)

// settled is what was found when all was calm again.
type settled struct {
	took    time.Duration // until every acknowledged request had ended
	forced  int           // tasks that were delivered before their time, since what they are for had ended
	left    int64         // tasks that remained
	calls   int           // of the target, before the forced deliveries and replays
	stuck   []*request
	replays int
	wrong   []differing
}

// differing is a replay or result of a request that differs from what was answered before.
type differing struct {
	request *request
	text    string
}

// settle waits until every acknowledged request has ended, delivers the tasks that are left, and has the results replayed.
func (w *world) settle() settled {
	began := time.Now()
	w.clients.going.Wait()
	var s settled
	s.stuck = w.ends(w.ctx)
	s.took = time.Since(began)
	w.say("all has ended after %s", s.took.Round(time.Millisecond))
	s.calls = len(w.target.all())
	s.forced, s.left = w.force()
	w.replay(&s)
	return s
}

// workers is how many ask at once.
const workers = 8

// each calls f for every request, several at once, and returns those for which it says so.
func each(requests []*request, f func(*request) bool) (list []*request) {
	var mu sync.Mutex
	var going sync.WaitGroup
	next := make(chan *request)
	for range workers {
		going.Go(func() {
			for r := range next {
				if f(r) {
					mu.Lock()
					list = append(list, r)
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range requests {
		next <- r
	}
	close(next)
	going.Wait()
	return list
}

// ends waits until all acknowledged requests have ended, and returns those that have not when none has ended for Options.Drain.
func (w *world) ends(ctx context.Context) (open []*request) {
	for _, r := range w.clients.list() {
		if !r.acked.IsZero() {
			open = append(open, r)
		}
	}
	told, last := time.Now(), time.Now()
	for ; ; pause(ctx, time.Second) {
		before := len(open)
		if open = each(open, func(r *request) bool { return !w.ended(ctx, r) }); len(open) < before {
			last = time.Now()
		}
		if len(open) == 0 || ctx.Err() != nil || time.Since(last) > w.options.Drain {
			return open
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			w.say("%d have not ended, such as %s on %s", len(open), open[0].id, open[0].lane.key)
		}
	}
}

// ended asks how a request stands, and notes how it ended.
func (w *world) ended(ctx context.Context, r *request) bool {
	a, err := w.clients.call(ctx, http.MethodGet, "/v1/lanes/"+r.lane.key+"/requests/"+r.id)
	if err != nil {
		return false
	}
	var s state
	if err := json.Unmarshal([]byte(a.body), &s); err != nil || a.code != http.StatusOK {
		r.status = fmt.Sprintf("%d %s", a.code, a.problem)
		return false
	}
	r.status, r.started, r.attempts = s.Status, s.Started, s.Attempts
	return s.Status == "done" || s.Status == "dead" || s.Status == "cancelled"
}

// force delivers the tasks that are left now: each is for what has ended. It returns how many there were, and how many remain.
func (w *world) force() (forced int, left int64) {
	ctx, cancel := context.WithTimeout(w.ctx, forceTimeout)
	defer cancel()
	client, err := apiv2.NewClient(ctx, option.WithEndpoint(w.tasks.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return 0, w.tasks.Stats().Waiting
	}
	defer client.Close()
	for ctx.Err() == nil {
		names, err := taskNames(ctx, client)
		if err == nil && len(names) == 0 && w.tasks.Stats().InFlight == 0 {
			break
		}
		for _, name := range names {
			if _, err := client.RunTask(ctx, &cloudtaskspb.RunTaskRequest{Name: name}); err == nil {
				forced++
			}
		}
		pause(ctx, 500*time.Millisecond)
	}
	stats := w.tasks.Stats()
	return forced, stats.Waiting + stats.InFlight
}

// forceTimeout bounds the forced deliveries.
const forceTimeout = time.Minute

func taskNames(ctx context.Context, client *apiv2.Client) (names []string, err error) {
	tasks := client.ListTasks(ctx, &cloudtaskspb.ListTasksRequest{Parent: stack.Queue, PageSize: 1000})
	for {
		t, err := tasks.Next()
		if errors.Is(err, iterator.Done) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, t.GetName())
	}
}

// replay asks for the result of everything done, and sends what has a key once more: both are what was answered before, and what the
// target answered once.
func (w *world) replay(s *settled) {
	var mu sync.Mutex
	wrong := func(r *request, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		s.wrong = append(s.wrong, differing{r, fmt.Sprintf(format, args...)})
	}
	each(w.clients.list(), func(r *request) bool {
		if r.status != "done" {
			return false
		}
		result := w.operator.insist(w.ctx, http.MethodGet, "/v1/lanes/"+r.lane.key+"/requests/"+r.id+"/result")
		r.answers = append(r.answers, result.body)
		if r.key != "" {
			again := w.again(r)
			if !again.replayed || again.code != http.StatusOK {
				wrong(r, "sent again: %d %s, replayed %t", again.code, again.status, again.replayed)
			}
			r.answers = append(r.answers, again.body)
			mu.Lock()
			s.replays++
			mu.Unlock()
		}
		for _, a := range r.answers {
			if a != result.body {
				wrong(r, "an answer %q and a result %q", brief(a), brief(result.body))
			}
		}
		if !w.target.answered(r.serial, result.body) {
			wrong(r, "the result %q is none of the target's answers", brief(result.body))
		}
		return false
	})
}

// again sends a request once more, until it is answered.
func (w *world) again(r *request) answer {
	for w.ctx.Err() == nil {
		if a, err := w.clients.send(w.ctx, r); err == nil && a.status != "" && a.status != "error" {
			return a
		}
		pause(w.ctx, 100*time.Millisecond)
	}
	return answer{}
}

func (t *target) answered(serial int, answer string) bool {
	for _, c := range t.of(serial) {
		if c.answer != "" && c.answer == answer {
			return true
		}
	}
	return false
}

// brief is the begin of an answer.
func brief(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
