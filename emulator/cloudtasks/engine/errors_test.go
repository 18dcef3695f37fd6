package engine_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const queueMissing = "Queue does not exist. If you just created the queue, wait at least a minute for the queue to initialize."

// recorded is what the service was recorded to answer.
type recorded struct {
	fact string // of FACTS.md
	call func(w *world) error
	code codes.Code
	text string
}

func (r recorded) check(t *testing.T) {
	t.Parallel()
	err := r.call(setup(t, engine.Options{}))
	if got := status.Convert(err); got.Code() != r.code || got.Message() != r.text {
		t.Errorf("got %v %q, want %v %q", got.Code(), got.Message(), r.code, r.text)
	}
}

func createQueue(change func(*cloudtaskspb.Queue)) func(*world) error {
	return func(w *world) error {
		q := &cloudtaskspb.Queue{Name: place + "/queues/new"}
		change(q)
		_, err := w.CreateQueue(w.now, place, q)
		return err
	}
}

func createTask(change ...func(*cloudtaskspb.Task)) func(*world) error {
	return func(w *world) error {
		_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: httpTask(change...)})
		return err
	}
}

func url(u string) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.GetHttpRequest().Url = u }
}

func rate(change func(*cloudtaskspb.RateLimits)) func(*world) error {
	return createQueue(func(q *cloudtaskspb.Queue) {
		q.RateLimits = &cloudtaskspb.RateLimits{}
		change(q.RateLimits)
	})
}

func retry(change func(*cloudtaskspb.RetryConfig)) func(*world) error {
	return createQueue(func(q *cloudtaskspb.Queue) {
		q.RetryConfig = &cloudtaskspb.RetryConfig{}
		change(q.RetryConfig)
	})
}

func TestAnswersToQueueCallsAreThoseRecorded(t *testing.T) {
	t.Parallel()
	for _, r := range []recorded{
		{"1.1 rate above 500 is INVALID_ARGUMENT", rate(func(l *cloudtaskspb.RateLimits) { l.MaxDispatchesPerSecond = 500.5 }),
			codes.InvalidArgument, "RateLimits.maxDispatchesPerSecond must be less than or equal to 500."},
		{"1.1 negative rate is INVALID_ARGUMENT", rate(func(l *cloudtaskspb.RateLimits) { l.MaxDispatchesPerSecond = -1 }),
			codes.InvalidArgument, "RateLimits.maxDispatchesPerSecond cannot be negative."},
		{"1.1 concurrency above 5000 is INVALID_ARGUMENT", rate(func(l *cloudtaskspb.RateLimits) { l.MaxConcurrentDispatches = 5001 }),
			codes.InvalidArgument, "RateLimits.maxConcurrentDispatches must be less than or equal to 5000."},
		{"1.3 negative concurrency", rate(func(l *cloudtaskspb.RateLimits) { l.MaxConcurrentDispatches = -1 }),
			codes.InvalidArgument, "RateLimits.maxConcurrentDispatches cannot be negative."},
		{"1.3 negative burst is accepted (ignored)", rate(func(l *cloudtaskspb.RateLimits) { l.MaxBurstSize = -7 }), codes.OK, ""},
		{"1.3 min backoff above max backoff", retry(func(c *cloudtaskspb.RetryConfig) {
			c.MinBackoff, c.MaxBackoff = durationpb.New(2*time.Second), durationpb.New(time.Second)
		}), codes.InvalidArgument, "RetryConfig.minBackoff must be less than or equal to RetryConfig.maxBackoff."},
		{"1.3 attempts below -1", retry(func(c *cloudtaskspb.RetryConfig) { c.MaxAttempts = -2 }),
			codes.InvalidArgument, "RetryConfig.maxAttempts must be greater or equal to -1."},
		{"1.3 negative doublings", retry(func(c *cloudtaskspb.RetryConfig) { c.MaxDoublings = -1 }),
			codes.InvalidArgument, "RetryConfig.maxDoublings cannot be negative."},
		{"1.3 negative min backoff", retry(func(c *cloudtaskspb.RetryConfig) { c.MinBackoff = durationpb.New(-1) }),
			codes.InvalidArgument, "RetryConfig.minBackoff cannot be negative."},
		{"1.1 queue id is [A-Za-z0-9-]{1,100}", createQueue(func(q *cloudtaskspb.Queue) { q.Name += "_" }),
			codes.InvalidArgument, `Queue name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>".`},
		{"1.1 queue id has at most 100 characters", createQueue(func(q *cloudtaskspb.Queue) { q.Name = place + "/queues/" + strings.Repeat("q", 101) }),
			codes.InvalidArgument, `Queue name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>".`},
		{"1.1 a deleted queue existed too recently", func(w *world) error {
			if err := w.DeleteQueue(w.now, name); err != nil {
				return err
			}
			w.now = w.now.Add(7*24*time.Hour - 1)
			_, err := w.CreateQueue(w.now, place, &cloudtaskspb.Queue{Name: name})
			return err
		}, codes.FailedPrecondition, "The queue cannot be created because a queue with this name existed too recently."},
		{"1.1 the tombstone ends after 7 days", func(w *world) error {
			if err := w.DeleteQueue(w.now, name); err != nil {
				return err
			}
			_, err := w.CreateQueue(w.now.Add(7*24*time.Hour), place, &cloudtaskspb.Queue{Name: name})
			return err
		}, codes.OK, ""},
		{"1.5 queue exists", func(w *world) error {
			_, err := w.CreateQueue(w.now, place, &cloudtaskspb.Queue{Name: name})
			return err
		}, codes.AlreadyExists, "Queue already exists"},
		{"1.5 get unknown queue", func(w *world) error { _, err := w.GetQueue(name + "2"); return err }, codes.NotFound, queueMissing},
		{"1.5 pause unknown queue", func(w *world) error { _, err := w.PauseQueue(name + "2"); return err }, codes.NotFound, queueMissing},
		{"1.5 resume unknown queue", func(w *world) error { _, err := w.ResumeQueue(name + "2"); return err }, codes.NotFound, queueMissing},
		{"1.5 purge unknown queue", func(w *world) error { _, err := w.PurgeQueue(w.now, name+"2"); return err }, codes.NotFound, queueMissing},
		{"1.5 delete unknown queue", func(w *world) error { return w.DeleteQueue(w.now, name+"2") }, codes.NotFound, "Requested entity was not found."},
	} {
		t.Run(r.fact, r.check)
	}
}

func TestAnswersToTaskCallsAreThoseRecorded(t *testing.T) {
	t.Parallel()
	tooFar := start.Add(720*time.Hour + time.Microsecond)
	for _, r := range []recorded{
		{"1.1 the horizon is 720 h", createTask(due(tooFar)), codes.InvalidArgument,
			"The Task.scheduleTime, 2026-12-31T10:00:00.000001Z, is too far in the future. Schedule time must be no more than 720h in the future."},
		{"1.1 720 h exactly is allowed", createTask(due(start.Add(720 * time.Hour))), codes.OK, ""},
		{"1.4 deadline below 15 s", createTask(deadline(15*time.Second - time.Millisecond)), codes.InvalidArgument, "Task.dispatchDeadline must be between [15s, 30m]."},
		{"1.4 deadline above 30 min", createTask(deadline(30*time.Minute + time.Millisecond)), codes.InvalidArgument, "Task.dispatchDeadline must be between [15s, 30m]."},
		{"1.4 deadline is truncated to ms", createTask(deadline(30*time.Minute + time.Millisecond - 1)), codes.OK, ""},
		{"1.5 queue missing", func(w *world) error {
			_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name + "2", Task: httpTask()})
			return err
		}, codes.NotFound, queueMissing},
		{"1.5 queue deleted", func(w *world) error {
			if err := w.DeleteQueue(w.now, name); err != nil {
				return err
			}
			return createTask()(w)
		}, codes.NotFound, queueMissing},
		{"1.5 bad task id", createTask(named("not a valid id")), codes.InvalidArgument,
			`Task ID "not a valid id" can contain only letters ([A-Za-z]), numbers ([0-9]), hyphens (-), or underscores (_). Task ID must between 1 and 500 characters.`},
		{"1.1 task id of 500 characters", createTask(named(strings.Repeat("x_-9", 125))), codes.OK, ""},
		{"1.5 name in another queue", createTask(func(t *cloudtaskspb.Task) { t.Name = name + "-other/tasks/x" }), codes.InvalidArgument,
			"The queue name from request ('" + name + "') must be the same as the queue name in the named task ('" + name + "-other')."},
		{"1.5 url empty", createTask(url("")), codes.InvalidArgument, "HttpRequest.url is required."},
		{"1.5 url without scheme", createTask(url("example.com/x")), codes.InvalidArgument, "HttpTarget.url must start with 'http://' or 'https://'."},
		{"1.5 url of another scheme", createTask(url("ftp://example.com/x")), codes.InvalidArgument, "HttpTarget.url must start with 'http://' or 'https://'."},
		{"1.5 bad %-escape is accepted", createTask(url("http://example.com/%zz")), codes.OK, ""},
		{"1.5 duplicate name", func(w *world) error {
			w.create(named("x"))
			return createTask(named("x"))(w)
		}, codes.AlreadyExists, "Requested entity already exists"},
		{"1.5 GetTask after done", func(w *world) error {
			w.create(named("x"))
			w.run(time.Second)
			_, err := w.GetTask(w.now, name+"/tasks/x", 0)
			return err
		}, codes.NotFound, "The task no longer exists, though a task with this name existed recently. The task either successfully completed or was deleted."},
		{"1.5 get unknown task", func(w *world) error { _, err := w.GetTask(w.now, name+"/tasks/x", 0); return err }, codes.NotFound, "Requested entity was not found."},
		{"1.5 delete unknown task", func(w *world) error { return w.DeleteTask(w.now, name+"/tasks/x") }, codes.NotFound, "Requested entity was not found."},
		{"1.5 run unknown task", func(w *world) error { _, err := w.RunTask(w.now, name+"/tasks/x", 0); return err }, codes.NotFound, "Requested entity was not found."},
	} {
		t.Run(r.fact, r.check)
	}
}

// FACTS.md 1.1: more than 1,048,569 bytes of the stored message are refused.
func TestTheSizeLimitIsThatOfTheStoredTask(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	body := func(size int) func(*cloudtaskspb.Task) {
		return func(t *cloudtaskspb.Task) { t.GetHttpRequest().Body = make([]byte, size) }
	}
	fits := w.create(named("probe"), body(1<<20-1000))
	full, err := w.GetTask(w.now, fits.GetName(), cloudtaskspb.Task_FULL)
	if err != nil {
		t.Fatal(err)
	}
	full.View = 0 // the service counts what it stores
	room := 1048569 - proto.Size(full)
	if err := createTask(named("exact"), body(1<<20-1000+room))(w); err != nil {
		t.Errorf("a task of exactly the limit: %v", err)
	}
	if err := createTask(named("above"), body(1<<20-1000+room+1))(w); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a task one byte above the limit: %v", err)
	}
}

func TestNameErrorsLinkToTheDefinition(t *testing.T) {
	t.Parallel()
	err := createTask(named("not a valid id"))(setup(t, engine.Options{}))
	want := &errdetails.Help{Links: []*errdetails.Help_Link{{
		Description: "Definition of task ID",
		Url:         "https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues.tasks#Task.FIELDS.name",
	}}}
	if diff := cmp.Diff([]any{want}, status.Convert(err).Details(), protocmp.Transform()); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.1: what a queue gets where its configuration says nothing.
func TestAQueueHasTheServiceDefaults(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	got, err := w.CreateQueue(w.now, place, &cloudtaskspb.Queue{Name: place + "/queues/new", State: cloudtaskspb.Queue_DISABLED})
	if err != nil {
		t.Fatal(err)
	}
	want := &cloudtaskspb.Queue{
		Name:       place + "/queues/new",
		State:      cloudtaskspb.Queue_RUNNING,
		RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 500, MaxBurstSize: 100, MaxConcurrentDispatches: 1000},
		RetryConfig: &cloudtaskspb.RetryConfig{
			MaxAttempts: 100, MaxDoublings: 16, MinBackoff: durationpb.New(100 * time.Millisecond), MaxBackoff: durationpb.New(time.Hour),
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
}
