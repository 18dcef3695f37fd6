package taskqueue_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const queueName = "projects/p/locations/l/queues/q"

// outcome is what the fake queue does with one CreateTask call.
type outcome struct {
	commit bool       // the task exists afterwards
	code   codes.Code // what the caller is told
	cut    bool       // the connection breaks instead
}

// fakeQueue is a Cloud Tasks server with one queue, whose answers to CreateTask
// can be scripted; without a script it behaves.
type fakeQueue struct {
	cloudtaskspb.UnimplementedCloudTasksServer

	mu     sync.Mutex
	script []outcome
	calls  []*cloudtaskspb.CreateTaskRequest
	tasks  map[string]*cloudtaskspb.Task
	state  cloudtaskspb.Queue_State
	fail   codes.Code // of GetTask and GetQueue
	conns  []net.Conn
}

func (q *fakeQueue) CreateTask(_ context.Context, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, r)
	next := outcome{commit: true, code: codes.OK}
	if len(q.script) > 0 {
		next, q.script = q.script[0], q.script[1:]
	}
	_, exists := q.tasks[r.Task.Name]
	if next.commit && !exists {
		q.tasks[r.Task.Name] = r.Task
	}
	if next.cut {
		for _, c := range q.conns {
			c.Close()
		}
	}
	if next.code == codes.OK && exists {
		next.code = codes.AlreadyExists
	}
	return r.Task, status.Error(next.code, "scripted")
}

func (q *fakeQueue) GetTask(_ context.Context, r *cloudtaskspb.GetTaskRequest) (*cloudtaskspb.Task, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	task, ok := q.tasks[r.Name]
	switch {
	case q.fail != codes.OK:
		return nil, status.Error(q.fail, "scripted")
	case !ok:
		return nil, status.Error(codes.NotFound, "Requested entity was not found.")
	case r.ResponseView != cloudtaskspb.Task_FULL:
		task = proto.CloneOf(task)
		task.GetHttpRequest().Body = nil
	}
	return task, nil
}

func (q *fakeQueue) GetQueue(_ context.Context, r *cloudtaskspb.GetQueueRequest) (*cloudtaskspb.Queue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fail != codes.OK {
		return nil, status.Error(q.fail, "scripted")
	}
	return &cloudtaskspb.Queue{Name: r.Name, State: q.state}, nil
}

// listener remembers its connections, for the fake to cut.
type listener struct {
	net.Listener
	queue *fakeQueue
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.queue.mu.Lock()
		l.queue.conns = append(l.queue.conns, c)
		l.queue.mu.Unlock()
	}
	return c, err
}

// fakeClock never waits: it jumps to the end of every sleep.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

type bundle struct {
	queue  *fakeQueue
	clock  *fakeClock
	config taskqueue.Config
	client *taskqueue.Client
}

// setup serves a fake queue on a free port and dials it as an emulator.
func setup(t *testing.T, options ...taskqueue.Option) *bundle {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{
		queue:  &fakeQueue{tasks: map[string]*cloudtaskspb.Task{}, state: cloudtaskspb.Queue_RUNNING},
		clock:  &fakeClock{now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)},
		config: config(t),
	}
	server := grpc.NewServer()
	cloudtaskspb.RegisterCloudTasksServer(server, b.queue)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener{l, b.queue})
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	b.config.Endpoint = l.Addr().String()
	options = append([]taskqueue.Option{taskqueue.WithClock(b.clock)}, options...)
	b.client, err = taskqueue.New(t.Context(), b.config, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func keys(t testing.TB, list string) taskqueue.Keys {
	t.Helper()
	k, err := taskqueue.ParseKeys(list)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func config(t testing.TB) taskqueue.Config {
	t.Helper()
	return taskqueue.Config{
		Queue:          queueName,
		ExecutorURL:    "https://executor.example/run",
		ServiceAccount: "tasks@p.iam.gserviceaccount.com",
		Audience:       "https://executor.example",
		Keys:           keys(t, "first,second"),
		Auth:           true,
	}
}

func envelope() taskqueue.Envelope {
	return taskqueue.Envelope{
		V:              taskqueue.Version,
		Kind:           taskqueue.KindRequest,
		Key:            "tenant-42:product-7",
		Incarnation:    1796119200000,
		Ticket:         1796119200007,
		ID:             "abcdefghijklmnopqrstuvwxyz",
		K:              2,
		Target:         "billing",
		Header:         http.Header{"Content-Type": {"application/json"}, "X-Tag": {"a", "b"}},
		IdempotencyKey: "order-1",
		Fingerprint:    "fp",
		Submitted:      time.Date(2026, 12, 1, 10, 0, 0, 250e6, time.UTC),
		Deadline:       time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC),
		Traceparent:    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Body:           []byte(`{"n":1}`),
	}
}

func task() taskqueue.Task {
	e := envelope()
	return taskqueue.Task{
		ID:               taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, e.K),
		DispatchDeadline: 3 * time.Minute,
		Envelope:         e,
	}
}
