package taskqueue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestCreate(t *testing.T) {
	t.Parallel()

	lost := outcome{commit: true, code: codes.Unavailable} // done, and nobody told us
	failed := outcome{code: codes.Unavailable}
	tests := []struct {
		name    string
		script  []outcome
		created bool
		err     error
		code    codes.Code
		tries   int
	}{
		{name: "at once", created: true, tries: 1},
		{name: "a reply lost after the commit: the same name exists", script: []outcome{lost}, tries: 2},
		{name: "a request lost before the commit: tried again", script: []outcome{failed}, created: true, tries: 2},
		{name: "a deadline of the server", script: []outcome{{code: codes.DeadlineExceeded}}, created: true, tries: 2},
		{name: "cancelled by the transport", script: []outcome{{code: codes.Canceled}}, created: true, tries: 2},
		{name: "an internal error", script: []outcome{{commit: true, code: codes.Internal}}, tries: 2},
		{name: "an unknown error", script: []outcome{{code: codes.Unknown}}, created: true, tries: 2},
		{name: "aborted", script: []outcome{{code: codes.Aborted}}, created: true, tries: 2},
		{name: "over quota for a moment", script: []outcome{{code: codes.ResourceExhausted}}, created: true, tries: 2},
		{name: "the connection breaks after the commit", script: []outcome{{commit: true, cut: true}}, tries: 2},
		{name: "no such queue", script: []outcome{{code: codes.NotFound}}, err: taskqueue.ErrRefused, code: codes.NotFound, tries: 1},
		{name: "a bad request", script: []outcome{{code: codes.InvalidArgument}}, err: taskqueue.ErrRefused, code: codes.InvalidArgument, tries: 1},
		{name: "no permission", script: []outcome{{code: codes.PermissionDenied}}, err: taskqueue.ErrRefused, code: codes.PermissionDenied, tries: 1},
		{name: "no credentials", script: []outcome{{code: codes.Unauthenticated}}, err: taskqueue.ErrRefused, code: codes.Unauthenticated, tries: 1},
		{name: "a queue deleted of late", script: []outcome{{code: codes.FailedPrecondition}}, err: taskqueue.ErrRefused, code: codes.FailedPrecondition, tries: 1},
		{name: "a refusal after quota is certain", script: []outcome{{code: codes.ResourceExhausted}, {code: codes.NotFound}},
			err: taskqueue.ErrRefused, code: codes.NotFound, tries: 2},
		{name: "a refusal after a lost reply is not", script: []outcome{lost, {code: codes.NotFound}},
			err: taskqueue.ErrAmbiguous, code: codes.NotFound, tries: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.queue.script = tt.script
			created, err := b.client.Create(t.Context(), task())
			if created != tt.created || !errors.Is(err, tt.err) || status.Code(err) != tt.code {
				t.Errorf("Create = %v, %v; want %v, %v with code %v", created, err, tt.created, tt.err, tt.code)
			}
			if len(b.queue.calls) != tt.tries {
				t.Errorf("%d tries, want %d", len(b.queue.calls), tt.tries)
			}
			for _, again := range b.queue.calls[1:] {
				if diff := cmp.Diff(b.queue.calls[0], again, protocmp.Transform()); diff != "" {
					t.Errorf("a retry differs (-first +retry):\n%s", diff)
				}
			}
			if tt.err != nil && (!strings.Contains(err.Error(), task().ID) || !strings.Contains(err.Error(), tt.code.String())) {
				t.Errorf("error %q does not name the task and the code", err)
			}
		})
	}

	t.Run("a task that exists already is no error", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, want := range []bool{true, false, false} {
			if created, err := b.client.Create(t.Context(), task()); created != want || err != nil {
				t.Errorf("Create = %v, %v; want %v", created, err, want)
			}
		}
	})
}

// Whatever the queue does, the answer must not claim more than is true.
func TestCreateNeverClaimsMoreThanIsTrue(t *testing.T) {
	t.Parallel()

	b := setup(t)
	anyOutcome := rapid.Custom(func(t *rapid.T) outcome {
		o := outcome{code: codes.Code(rapid.Uint32Range(0, 16).Draw(t, "code"))}
		switch o.code {
		case codes.OK, codes.AlreadyExists:
			o = outcome{commit: true}
		case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled, codes.Aborted, codes.DataLoss:
			o.commit = rapid.Bool().Draw(t, "commit")
		}
		return o
	})
	rapid.Check(t, func(rt *rapid.T) {
		b.queue.tasks = map[string]*cloudtaskspb.Task{}
		b.queue.calls = nil
		b.queue.script = rapid.SliceOfN(anyOutcome, 0, 40).Draw(rt, "script")
		created, err := b.client.Create(t.Context(), task())
		exists := len(b.queue.tasks) == 1
		ambiguous, refused := errors.Is(err, taskqueue.ErrAmbiguous), errors.Is(err, taskqueue.ErrRefused)
		switch {
		case err == nil && !exists:
			rt.Fatalf("created = %v, and there is no task", created)
		case refused && exists:
			rt.Fatalf("refused, and there is a task: %v", err)
		case err != nil && (ambiguous == refused || created):
			rt.Fatalf("created = %v with an error that is ambiguous %v, refused %v: %v", created, ambiguous, refused, err)
		}
	})
}

func TestCreateGivesUpWithinItsBudget(t *testing.T) {
	t.Parallel()

	t.Run("a queue out of reach is ambiguous", func(t *testing.T) {
		t.Parallel()
		b := setup(t, taskqueue.WithRandom(func() float64 { return 0 }))
		b.queue.script = slices.Repeat([]outcome{{code: codes.Unavailable}}, 100)
		if _, err := b.client.Create(t.Context(), task()); !errors.Is(err, taskqueue.ErrAmbiguous) {
			t.Fatalf("Create = %v, want ErrAmbiguous", err)
		}
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		want := append([]time.Duration{ms(100), ms(200), ms(400), ms(800), ms(1600)}, slices.Repeat([]time.Duration{ms(2000)}, 8)...)
		if diff := cmp.Diff(want, b.clock.slept); diff != "" {
			t.Errorf("pauses, 19.1 s of a budget of 20 s (-want +got):\n%s", diff)
		}
	})
	t.Run("a queue over quota all the time is a refusal", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.queue.script = slices.Repeat([]outcome{{code: codes.ResourceExhausted}}, 100)
		if _, err := b.client.Create(t.Context(), task()); !errors.Is(err, taskqueue.ErrRefused) || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("Create = %v, want ErrRefused with ResourceExhausted", err)
		}
	})
	t.Run("half of a pause is jitter", func(t *testing.T) {
		t.Parallel()
		b := setup(t, taskqueue.WithRandom(func() float64 { return 0.5 }), taskqueue.WithBudget(time.Second, time.Second))
		b.queue.script = slices.Repeat([]outcome{{code: codes.Unavailable}}, 100)
		_, _ = b.client.Create(t.Context(), task())
		want := []time.Duration{75 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond}
		if diff := cmp.Diff(want, b.clock.slept); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.config.Endpoint = "127.0.0.1:1"
		c, err := taskqueue.New(t.Context(), b.config, taskqueue.WithClock(b.clock))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Create(t.Context(), task()); !errors.Is(err, taskqueue.ErrAmbiguous) || status.Code(err) != codes.Unavailable {
			t.Errorf("Create = %v, want ErrAmbiguous with Unavailable", err)
		}
	})
	t.Run("a cancelled caller sends nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.client.Create(ctx, task())
		if !errors.Is(err, taskqueue.ErrRefused) || !errors.Is(err, context.Canceled) || len(b.queue.calls) != 0 {
			t.Errorf("Create = %v after %d calls; want ErrRefused, Canceled and none", err, len(b.queue.calls))
		}
	})
	t.Run("a task that cannot be built sends nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		tk := task()
		tk.Envelope.Header.Set("Content-Type", "\xff")
		_, err := b.client.Create(t.Context(), tk)
		if !errors.Is(err, taskqueue.ErrRefused) || !errors.Is(err, taskqueue.ErrMalformed) || len(b.queue.calls) != 0 {
			t.Errorf("Create = %v after %d calls; want ErrRefused, ErrMalformed and none", err, len(b.queue.calls))
		}
	})
}

// silent never answers.
type silent struct {
	taskqueue.Service
	called chan struct{}
}

func (s silent) CreateTask(ctx context.Context, _ *cloudtaskspb.CreateTaskRequest, _ ...gax.CallOption) (*cloudtaskspb.Task, error) {
	select {
	case s.called <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCreateOnAQueueThatNeverAnswers(t *testing.T) {
	t.Parallel()

	t.Run("each try is cut short, and all of them end within the budget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := silent{called: make(chan struct{}, 100)}
			c, err := taskqueue.New(t.Context(), config(t), taskqueue.WithService(s))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err = c.Create(t.Context(), task()); !errors.Is(err, taskqueue.ErrAmbiguous) {
				t.Errorf("Create = %v, want ErrAmbiguous", err)
			}
			if took := time.Since(start); took > 20*time.Second || len(s.called) != 4 {
				t.Errorf("%d tries in %v, want 4 within 20s", len(s.called), took)
			}
		})
	})
	t.Run("a caller who leaves during a try gets the truth", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := silent{called: make(chan struct{}, 1)}
			c, err := taskqueue.New(t.Context(), config(t), taskqueue.WithService(s))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-s.called
				cancel()
			}()
			_, err = c.Create(ctx, task())
			if !errors.Is(err, taskqueue.ErrAmbiguous) || !errors.Is(err, context.Canceled) {
				t.Errorf("Create = %v, want ErrAmbiguous and Canceled", err)
			}
		})
	})
}
