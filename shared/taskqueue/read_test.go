package taskqueue_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestGet(t *testing.T) {
	t.Parallel()

	t.Run("returns what Create was given", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		if _, err := b.client.Create(t.Context(), task()); err != nil {
			t.Fatal(err)
		}
		got, err := b.client.Get(t.Context(), task().ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(envelope(), got); diff != "" {
			t.Errorf("envelope (-want +got):\n%s", diff)
		}
	})

	// Each test spoils the stored task in one way.
	set := func(body string, key string) func(*cloudtaskspb.Task) {
		return func(t *cloudtaskspb.Task) {
			t.GetHttpRequest().Body = []byte(body)
			t.GetHttpRequest().Headers[taskqueue.MACHeader] = sign(key, []byte(body))
		}
	}
	tests := []struct {
		name  string
		spoil func(*cloudtaskspb.Task)
		want  error
	}{
		{"the header in another case", func(t *cloudtaskspb.Task) {
			h := t.GetHttpRequest().Headers
			h["seriatim-mac"] = h[taskqueue.MACHeader]
			delete(h, taskqueue.MACHeader)
		}, nil},
		{"no MAC", func(t *cloudtaskspb.Task) { delete(t.GetHttpRequest().Headers, taskqueue.MACHeader) }, taskqueue.ErrMAC},
		{"another body", func(t *cloudtaskspb.Task) { t.GetHttpRequest().Body = []byte("{}") }, taskqueue.ErrMAC},
		{"somebody else's MAC", set(`{"v":1,"kind":"kick","key":"k"}`, "third"), taskqueue.ErrMAC},
		{"no HTTP request", func(t *cloudtaskspb.Task) {
			t.MessageType = &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{}}
		}, taskqueue.ErrMAC},
		{"a newer version", set(`{"v":2}`, "second"), taskqueue.ErrVersion},
		{"no envelope", set(`[]`, "second"), taskqueue.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if _, err := b.client.Create(t.Context(), task()); err != nil {
				t.Fatal(err)
			}
			tt.spoil(b.queue.tasks[queueName+"/tasks/"+task().ID])
			if _, err := b.client.Get(t.Context(), task().ID); !errors.Is(err, tt.want) {
				t.Errorf("Get = %v, want %v", err, tt.want)
			}
		})
	}

	t.Run("a task that is not there", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		_, err := b.client.Get(t.Context(), task().ID)
		if !errors.Is(err, taskqueue.ErrNotFound) || !strings.Contains(err.Error(), task().ID) {
			t.Errorf("Get = %v, want ErrNotFound with the task's id", err)
		}
	})
	t.Run("a failure is no proof that it is not there", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.fail = codes.PermissionDenied
		_, err := b.client.Get(t.Context(), task().ID)
		if errors.Is(err, taskqueue.ErrNotFound) || status.Code(err) != codes.PermissionDenied {
			t.Errorf("Get = %v, want PermissionDenied", err)
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()

	states := map[cloudtaskspb.Queue_State]taskqueue.QueueState{
		cloudtaskspb.Queue_RUNNING:  taskqueue.Running,
		cloudtaskspb.Queue_PAUSED:   taskqueue.Paused,
		cloudtaskspb.Queue_DISABLED: taskqueue.Disabled,
	}
	for state, want := range states {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.queue.state = state
			if got, err := b.client.State(t.Context()); got != want || err != nil {
				t.Errorf("State = %q, %v; want %q", got, err, want)
			}
		})
	}
	t.Run("a state that is none", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.state = cloudtaskspb.Queue_STATE_UNSPECIFIED
		if got, err := b.client.State(t.Context()); got != "" || err == nil {
			t.Errorf("State = %q, %v; want an error", got, err)
		}
	})
	t.Run("no such queue", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.fail = codes.NotFound
		if got, err := b.client.State(t.Context()); got != "" || !errors.Is(err, taskqueue.ErrNotFound) {
			t.Errorf("State = %q, %v; want ErrNotFound", got, err)
		}
	})
}

// A hundred executors may create the same successor: one does, all may ack.
func TestContention(t *testing.T) {
	t.Parallel()

	b := setup(t)
	b.queue.script = []outcome{{commit: true, code: codes.Unavailable}, {code: codes.Internal}, {code: codes.ResourceExhausted}}
	var all sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		all.Go(func() {
			_, created := b.client.Create(t.Context(), task())
			_, read := b.client.Get(t.Context(), task().ID)
			errs[i] = errors.Join(created, read)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil || len(b.queue.tasks) != 1 {
		t.Errorf("%d tasks, %v; want 1 and no error", len(b.queue.tasks), err)
	}
}
