package engine_test

import (
	"math"
	"strings"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func TestMalformedRequestsAreInvalidArguments(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*cloudtaskspb.Task) {
		return func(t *cloudtaskspb.Task) { t.GetHttpRequest().Headers = map[string]string{name: value} }
	}
	list := func(r *cloudtaskspb.ListTasksRequest) func(*world) error {
		return func(w *world) error { _, err := w.ListTasks(w.now, r); return err }
	}
	for what, call := range map[string]func(*world) error{
		"no task": func(w *world) error {
			_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name})
			return err
		},
		"no request at all": func(w *world) error { _, err := w.CreateTask(w.now, nil); return err },
		"no message type": func(w *world) error {
			_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: &cloudtaskspb.Task{}})
			return err
		},
		"an App Engine task without an application": func(w *world) error {
			_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: &cloudtaskspb.Task{
				MessageType: &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{}},
			}})
			return err
		},
		"a task name without tasks": createTask(func(t *cloudtaskspb.Task) { t.Name = "x" }),
		"a body with GET": createTask(func(t *cloudtaskspb.Task) {
			t.GetHttpRequest().HttpMethod, t.GetHttpRequest().Body = cloudtaskspb.HttpMethod_GET, []byte("x")
		}),
		"an unknown method":              createTask(func(t *cloudtaskspb.Task) { t.GetHttpRequest().HttpMethod = 99 }),
		"a URL of 2084 characters":       createTask(url("http://example.com/" + strings.Repeat("x", 2084-len("http://example.com/")))),
		"a URL too long once encoded":    createTask(url("http://example.com/" + strings.Repeat(" ", 1000))),
		"a header name with a space":     createTask(header("a b", "x")),
		"a header value with a newline":  createTask(header("a", "x\r\nb: y")),
		"headers of 80 KB":               createTask(header("a", strings.Repeat("x", 80<<10-1))),
		"a schedule time out of range":   createTask(func(t *cloudtaskspb.Task) { t.ScheduleTime = &timestamppb.Timestamp{Seconds: 1 << 62} }),
		"a negative schedule nanosecond": createTask(func(t *cloudtaskspb.Task) { t.ScheduleTime = &timestamppb.Timestamp{Nanos: -1} }),
		"a deadline out of range":        createTask(func(t *cloudtaskspb.Task) { t.DispatchDeadline = &durationpb.Duration{Seconds: 1 << 62} }),
		"a bad task retry config":        createTask(func(t *cloudtaskspb.Task) { t.RetryConfig = &cloudtaskspb.RetryConfig{MaxAttempts: -5} }),
		"a backoff out of range":         retry(func(c *cloudtaskspb.RetryConfig) { c.MinBackoff = &durationpb.Duration{Seconds: 1 << 62} }),
		"a rate that is not a number":    rate(func(l *cloudtaskspb.RateLimits) { l.MaxDispatchesPerSecond = math.NaN() }),
		"a queue of another location": func(w *world) error {
			_, err := w.CreateQueue(w.now, "projects/p/locations/x", &cloudtaskspb.Queue{Name: place + "/queues/z"})
			return err
		},
		"no queue":           func(w *world) error { _, err := w.CreateQueue(w.now, place, nil); return err },
		"no queue to update": func(w *world) error { _, err := w.UpdateQueue(w.now, nil, nil); return err },
		"a mask with an unknown field": func(w *world) error {
			_, err := w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name}, []string{"rate_limits.nope"})
			return err
		},
		"a mask into a scalar": func(w *world) error {
			_, err := w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name}, []string{"name.x"})
			return err
		},
		"an empty host override": createQueue(func(q *cloudtaskspb.Queue) {
			q.HttpTarget = &cloudtaskspb.HttpTarget{UriOverride: &cloudtaskspb.UriOverride{Host: proto.String("")}}
		}),
		"a port override out of range": createQueue(func(q *cloudtaskspb.Queue) {
			q.HttpTarget = &cloudtaskspb.HttpTarget{UriOverride: &cloudtaskspb.UriOverride{Port: proto.Int64(70000)}}
		}),
		"a queue token without audience": createQueue(func(q *cloudtaskspb.Queue) {
			q.HttpTarget = &cloudtaskspb.HttpTarget{AuthorizationHeader: &cloudtaskspb.HttpTarget_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: "a@b"}}}
		}),
		"a bad header override": createQueue(func(q *cloudtaskspb.Queue) {
			q.HttpTarget = &cloudtaskspb.HttpTarget{HeaderOverrides: []*cloudtaskspb.HttpTarget_HeaderOverride{{}}}
		}),
		"a bad location": func(w *world) error {
			_, err := w.ListQueues(w.now, &cloudtaskspb.ListQueuesRequest{Parent: "x"})
			return err
		},
		"a filter of another field": func(w *world) error {
			_, err := w.ListQueues(w.now, &cloudtaskspb.ListQueuesRequest{Parent: place, Filter: "name: x"})
			return err
		},
		"a negative page size":       list(&cloudtaskspb.ListTasksRequest{Parent: name, PageSize: -1}),
		"a page token not of ours":   list(&cloudtaskspb.ListTasksRequest{Parent: name, PageToken: "!"}),
		"a page token of ListQueues": list(&cloudtaskspb.ListTasksRequest{Parent: name, PageToken: "MCB4"}),
		"a bad name to get":          func(w *world) error { _, err := w.GetTask(w.now, "x", 0); return err },
		"a bad queue name to get":    func(w *world) error { _, err := w.GetQueue("x"); return err },
		"no policy":                  func(w *world) error { _, err := w.SetPolicy(name, nil); return err },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if err := call(setup(t, engine.Options{})); status.Code(err) != codes.InvalidArgument {
				t.Errorf("got %v, want INVALID_ARGUMENT", err)
			}
		})
	}
}
