package simulation

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

const queueName = "projects/simulated/locations/simulated/queues/lanes"

var queueConfig = taskqueue.Config{
	Queue: queueName, ExecutorURL: "https://executor.example/", ServiceAccount: "tasks@simulated.example", Audience: "https://executor.example",
	Keys: mustKeys("simulated"), Auth: true,
}

func mustKeys(list string) taskqueue.Keys {
	k, err := taskqueue.ParseKeys(list)
	if err != nil {
		panic(err)
	}
	return k
}

// queue is Cloud Tasks: the engine, moved on by one timer, and its deliveries.
type queue struct {
	world *World

	mu      sync.Mutex
	engine  *engine.Engine
	timer   *time.Timer
	tasks   map[string]task // live ones
	cancels map[*engine.Attempt]context.CancelFunc
	sent    int
	over    bool
}

// task is what a task is for. A kick has no request.
type task struct {
	kind, request, client string
	ticket                int64
	due                   time.Time
	life                  *life // that it was made for
}

// taskOf reads a sealed envelope.
func taskOf(body []byte) task {
	t := task{kind: field(body, `"kind":"`), request: field(body, `"id":"`), client: sender(body)}
	if _, rest, found := bytes.Cut(body, []byte(`"ticket":`)); found {
		digits, _, _ := bytes.Cut(rest, []byte(","))
		t.ticket, _ = strconv.ParseInt(string(digits), 10, 64)
	}
	return t
}

func newQueue(w *World) *queue {
	q := &queue{world: w, tasks: map[string]task{}, cancels: map[*engine.Attempt]context.CancelFunc{}}
	f := w.Faults
	faults := engine.Faults{Jitter: engine.Delay{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond}}
	if f.Late > 0 {
		faults.Late = []engine.Chance{{Probability: f.Late, Delay: engine.Delay{Min: 30 * time.Second, Max: 180 * time.Second}}}
	}
	if f.Duplicate > 0 {
		faults.Duplicate = []engine.Chance{
			{Probability: f.Duplicate / 2, Delay: engine.Delay{Max: time.Second}},
			{Probability: f.Duplicate / 2, Delay: engine.Delay{Min: time.Second, Max: 180 * time.Second}},
		}
	}
	q.engine = engine.New(engine.Options{Seed: w.Seed, Faults: faults})
	_, err := q.engine.CreateQueue(time.Now(), strings.TrimSuffix(queueName, "/queues/lanes"), &cloudtaskspb.Queue{
		Name:       queueName,
		RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: w.Rate, MaxConcurrentDispatches: 1000},
		RetryConfig: &cloudtaskspb.RetryConfig{
			MaxAttempts: -1, MinBackoff: durationpb.New(time.Second), MaxBackoff: durationpb.New(10 * time.Second), MaxDoublings: 4,
		},
	})
	if err != nil {
		panic(err)
	}
	q.mu.Lock() // tick waits until there is a timer
	defer q.mu.Unlock()
	q.timer = time.AfterFunc(time.Hour, q.tick)
	return q
}

func (q *queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pump()
}

// pump performs what is due, and sets the timer to what comes next; q.mu is held.
func (q *queue) pump() {
	if q.over {
		return
	}
	for {
		step := q.engine.Advance(time.Now())
		for _, a := range step.Cancel {
			if cancel := q.cancels[a]; cancel != nil {
				cancel()
			}
		}
		for _, a := range step.Start {
			ctx, cancel := context.WithCancel(q.world.ctx)
			q.cancels[a] = cancel
			q.sent++
			go q.deliver(ctx, a, number(int64(q.sent)))
		}
		next, ok := q.engine.Next()
		if !ok {
			q.timer.Reset(time.Hour)
			return
		}
		if wait := time.Until(next); wait > 0 {
			q.timer.Reset(wait)
			return
		}
	}
}

// create performs CreateTask, and lets the oracle see it.
func (q *queue) create(req *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	body := req.GetTask().GetHttpRequest().GetBody()
	made := taskOf(body)
	made.due = req.GetTask().GetScheduleTime().AsTime()
	task, err := q.engine.CreateTask(time.Now(), proto.CloneOf(req))
	q.world.note(field(body, `"key":"`), "create %s task of %s: %v, due %+v", made.kind, label(made.request), err,
		time.Until(req.GetTask().GetScheduleTime().AsTime()))
	if err == nil {
		q.world.oracle.taskCreated(&made)
		q.tasks[req.GetTask().GetName()] = made
		if made.request == "" {
			q.world.count("kick task")
		}
		q.pump()
	}
	return task, err
}

// sender is the client of a sealed envelope: its payload is the client's name.
func sender(body []byte) string {
	name, _ := base64.StdEncoding.DecodeString(field(body, `"body":"`))
	return string(name)
}

// field reads one text field of a sealed envelope, without the cost of decoding it.
func field(body []byte, name string) string {
	_, rest, found := bytes.Cut(body, []byte(name))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

func label(request string) string {
	if request == "" {
		return "kick"
	}
	return request[:4]
}

// deliver sends one attempt to an executor and gives the engine the answer.
func (q *queue) deliver(ctx context.Context, a *engine.Attempt, nth string) {
	w := q.world
	w.steps.Add(1)
	about := strings.TrimPrefix(a.Task, queueName+"/tasks/")[:8] + " " + nth
	r := w.dice.roll("delivery", about)
	time.Sleep(r.span(time.Millisecond, 5*time.Millisecond))
	in := w.pick(&w.executors, about)
	w.note(field(a.Request.Body, `"key":"`), "%s gets task of %s", in.name, label(field(a.Request.Body, `"id":"`)))
	status, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		in.enter("delivery " + about)
		in.trouble("delivery " + about)
		out := &response{header: http.Header{}}
		in.executor.ServeHTTP(out, post(ctx, "/", a.Request.Header, a.Request.Body))
		status = out.status
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return // past its deadline: the engine knows
	}
	if w.strike("answer lost", about, w.faults().AnswerLost) {
		status = 0
	}
	time.Sleep(r.span(time.Millisecond, 5*time.Millisecond))
	q.finish(a, status, in)
}

func (q *queue) finish(a *engine.Attempt, status int, in *instance) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cancel := q.cancels[a]; cancel != nil {
		cancel()
		delete(q.cancels, a)
	}
	q.engine.Finish(time.Now(), a, engine.Result{Status: status})
	gone, live := q.tasks[a.Task]
	q.world.note(field(a.Request.Body, `"key":"`), "%s answers task of %s: %d", in.name, label(field(a.Request.Body, `"id":"`)), status)
	if live && status/100 == 2 {
		if _, err := q.engine.GetTask(time.Now(), a.Task, cloudtaskspb.Task_BASIC); err != nil {
			delete(q.tasks, a.Task)
			q.world.oracle.taskGone(gone)
		}
	}
	q.pump()
}

// empty says that no task is left.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tasks) == 0
}

// left names one of the tasks that are left.
func (q *queue) left() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, t := range q.tasks {
		return fmt.Sprintf("%d, as %s %s t%d (%s)", len(q.tasks), t.kind, label(t.request), t.ticket, name[len(queueName):])
	}
	return "none"
}

func (q *queue) stats() engine.Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.engine.Stats()
}

// stop delivers no more and cancels what is under way.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.timer.Stop()
	for _, cancel := range q.cancels {
		cancel()
	}
}
