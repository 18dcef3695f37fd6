package cloudtasks_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	cloudtasksapi "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

const (
	place     = "projects/p/locations/l"
	queueName = place + "/queues/q"
)

// bundle is a server on a clock of its own, the real Go client, and a target.
type bundle struct {
	server *cloudtasks.Server
	client *cloudtasksapi.Client
	clock  *cloudtasks.ManualClock
	target *target
}

// target answers what the test puts into answers, 200 when there is none, and
// hands every request to received.
type target struct {
	*httptest.Server
	received chan *http.Request
	answers  chan int
}

func newTarget(t *testing.T) *target {
	target := &target{received: make(chan *http.Request, 100), answers: make(chan int, 100)}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Set("Test-Body", string(body))
		status := http.StatusOK
		select {
		case status = <-target.answers:
		default:
		}
		w.WriteHeader(status)
		target.received <- r
	}))
	t.Cleanup(target.Close)
	return target
}

// next is the next request that the target gets.
func (target *target) next(t *testing.T) *http.Request {
	t.Helper()
	select {
	case r := <-target.received:
		return r
	case <-t.Context().Done():
		t.Fatal("the target got no request")
		return nil
	}
}

func setup(t *testing.T, change ...func(*cloudtasks.Options)) *bundle {
	t.Helper()
	b := &bundle{clock: cloudtasks.NewManualClock(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)), target: newTarget(t)}
	options := cloudtasks.Options{
		Queues: []*cloudtaskspb.Queue{{Name: queueName}},
		Clock:  b.clock,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&options)
	}
	server, err := cloudtasks.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b.server, b.client = server, newClient(t, server)
	return b
}

func newClient(t testing.TB, server *cloudtasks.Server) *cloudtasksapi.Client {
	t.Helper()
	client, err := cloudtasksapi.NewClient(t.Context(),
		option.WithEndpoint(server.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// create makes a task for the target.
func (b *bundle) create(t *testing.T, change ...func(*cloudtaskspb.Task)) *cloudtaskspb.Task {
	t.Helper()
	task := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{
		Url: b.target.URL + "/work?x=1", Body: []byte("hello"),
	}}}
	for _, c := range change {
		c(task)
	}
	created, err := b.client.CreateTask(t.Context(), &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: task})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (b *bundle) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := b.server.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestATaskIsSentOnceItIsDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.create(t)
	r := b.target.next(t)
	b.settle(t)
	got := map[string]string{}
	for _, name := range []string{"X-Cloudtasks-Queuename", "X-Cloudtasks-Taskretrycount", "X-Cloudtasks-Taskexecutioncount", "X-Cloudtasks-Tasketa", "User-Agent", "Test-Body", "X-Cloudtasks-Taskpreviousresponse"} {
		got[name] = r.Header.Get(name)
	}
	want := map[string]string{
		"X-Cloudtasks-Queuename": "q", "X-Cloudtasks-Taskretrycount": "0", "X-Cloudtasks-Taskexecutioncount": "0",
		"X-Cloudtasks-Tasketa": "1796119200.000000", "User-Agent": "Google-Cloud-Tasks", "Test-Body": "hello", "X-Cloudtasks-Taskpreviousresponse": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if name := queueName + "/tasks/" + r.Header.Get("X-CloudTasks-TaskName"); name != created.GetName() {
		t.Errorf("task name %q, want %q", name, created.GetName())
	}
	stats := b.server.Stats()
	if stats.Completed != 1 || stats.Waiting != 0 || stats.Calls["CreateTask"] != 1 {
		t.Errorf("stats %+v", stats)
	}
}
