package taskqueue_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestCreateRequest(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	limit := now.Add(29*24*time.Hour + 12*time.Hour)
	body, mac, err := config(t).Keys.Seal(envelope())
	if err != nil {
		t.Fatal(err)
	}
	// plain is the request for task(), which each test changes a little.
	plain := func() *cloudtaskspb.CreateTaskRequest {
		return &cloudtaskspb.CreateTaskRequest{
			Parent: queueName,
			Task: &cloudtaskspb.Task{
				Name: queueName + "/tasks/" + task().ID,
				MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{
					Url:        "https://executor.example/run",
					HttpMethod: cloudtaskspb.HttpMethod_POST,
					Headers:    map[string]string{"Content-Type": "application/json", "Seriatim-Mac": mac},
					Body:       body,
					AuthorizationHeader: &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{
						ServiceAccountEmail: "tasks@p.iam.gserviceaccount.com",
						Audience:            "https://executor.example",
					}},
				}},
				DispatchDeadline: durationpb.New(3 * time.Minute),
			},
		}
	}
	tests := []struct {
		name   string
		change func(*taskqueue.Config, *taskqueue.Task)
		want   func(*cloudtaskspb.CreateTaskRequest)
	}{
		{"due now", func(*taskqueue.Config, *taskqueue.Task) {}, func(*cloudtaskspb.CreateTaskRequest) {}},
		{"due at an instant", func(_ *taskqueue.Config, tk *taskqueue.Task) { tk.At = now.Add(1250 * time.Millisecond) },
			func(r *cloudtaskspb.CreateTaskRequest) {
				r.Task.ScheduleTime = &timestamppb.Timestamp{Seconds: now.Unix() + 1, Nanos: 250e6}
			}},
		{"due long ago", func(_ *taskqueue.Config, tk *taskqueue.Task) { tk.At = now.AddDate(-1, 0, 0) },
			func(r *cloudtaskspb.CreateTaskRequest) {
				r.Task.ScheduleTime = timestamppb.New(now.AddDate(-1, 0, 0))
			}},
		{"due at the horizon", func(_ *taskqueue.Config, tk *taskqueue.Task) { tk.At = limit },
			func(r *cloudtaskspb.CreateTaskRequest) { r.Task.ScheduleTime = timestamppb.New(limit) }},
		{"due beyond the horizon: at the horizon", func(_ *taskqueue.Config, tk *taskqueue.Task) { tk.At = now.AddDate(1, 0, 0) },
			func(r *cloudtaskspb.CreateTaskRequest) { r.Task.ScheduleTime = timestamppb.New(limit) }},
		{"the queue's own dispatch deadline", func(_ *taskqueue.Config, tk *taskqueue.Task) { tk.DispatchDeadline = 0 },
			func(r *cloudtaskspb.CreateTaskRequest) { r.Task.DispatchDeadline = nil }},
		{"without an account, without a token", func(c *taskqueue.Config, _ *taskqueue.Task) { c.ServiceAccount = "" },
			func(r *cloudtaskspb.CreateTaskRequest) { r.Task.GetHttpRequest().AuthorizationHeader = nil }},
		{"an emulator gets the token's account too", func(c *taskqueue.Config, _ *taskqueue.Task) { c.Endpoint = "127.0.0.1:8123" },
			func(*cloudtaskspb.CreateTaskRequest) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, tk, want := config(t), task(), plain()
			tt.change(&c, &tk)
			tt.want(want)
			got, err := c.CreateRequest(now, tk)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateRequestRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		change func(*taskqueue.Task)
		detail string
	}{
		{"no id", func(tk *taskqueue.Task) { tk.ID = "" }, "task id"},
		{"an id of two segments", func(tk *taskqueue.Task) { tk.ID = "a/b" }, "task id"},
		{"an id too long", func(tk *taskqueue.Task) { tk.ID = strings.Repeat("a", 501) }, "task id"},
		{"a dispatch deadline too short", func(tk *taskqueue.Task) { tk.DispatchDeadline = 14 * time.Second }, "dispatch deadline 14s"},
		{"a dispatch deadline too long", func(tk *taskqueue.Task) { tk.DispatchDeadline = 31 * time.Minute }, "dispatch deadline 31m"},
		{"an envelope that cannot be sealed", func(tk *taskqueue.Task) { tk.Envelope.Key = "" }, "no key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tk := task()
			tt.change(&tk)
			r, err := config(t).CreateRequest(time.Now(), tk)
			if err == nil || r != nil || !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("CreateRequest = %v, %v; want nothing and an error with %q", r, err, tt.detail)
			}
		})
	}
}

func TestDispatchDeadline(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name                string
		wait, timeout, want time.Duration
	}{
		{"room for two calls", 10 * time.Second, time.Minute, 160 * time.Second},
		{"the shortest target", 0, time.Second, 32 * time.Second},
		{"the longest target is capped", 10 * time.Second, 25 * time.Minute, 30 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := taskqueue.DispatchDeadline(tt.wait, tt.timeout); got != tt.want {
				t.Errorf("DispatchDeadline(%v, %v) = %v, want %v", tt.wait, tt.timeout, got, tt.want)
			}
		})
	}
}
