package problem_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatim/seriatim/shared/problem"
)

func TestError(t *testing.T) {
	t.Parallel()
	full := problem.New(problem.LaneFull, "Wait.").WithCause(io.ErrUnexpectedEOF)
	wrapped := fmt.Errorf("submit: %w", full)

	t.Run("it matches its name, its like and its cause, also wrapped", func(t *testing.T) {
		t.Parallel()
		for _, target := range []error{problem.LaneFull, problem.New(problem.LaneFull, "another text"), io.ErrUnexpectedEOF, full} {
			if !errors.Is(wrapped, target) {
				t.Errorf("errors.Is(%v, %#v) is false", wrapped, target)
			}
		}
	})

	t.Run("it matches nothing else", func(t *testing.T) {
		t.Parallel()
		for _, target := range []error{problem.Conflict, problem.New(problem.Conflict, "Wait."), io.EOF} {
			if errors.Is(wrapped, target) {
				t.Errorf("errors.Is(%v, %#v) is true", wrapped, target)
			}
		}
	})

	t.Run("its text is name, detail and cause", func(t *testing.T) {
		t.Parallel()
		for want, err := range map[string]error{
			"submit: lane-full: Wait.: unexpected EOF": wrapped,
			"conflict":         problem.New(problem.Conflict, ""),
			"conflict: Retry.": problem.New(problem.Conflict, "Retry."),
		} {
			if got := err.Error(); got != want {
				t.Errorf("text %q, want %q", got, want)
			}
		}
	})
}

func TestFrom(t *testing.T) {
	t.Parallel()
	internal := problem.Error{
		Name: problem.Internal, Status: 500,
		Detail: "The cause is in the service's log. Send the request again with the same Idempotency-Key.",
	}
	for _, tt := range []struct {
		name string
		err  error
		want problem.Error // without its cause
	}{
		{"nil", nil, internal},
		{"a foreign error, whose text stays inside", errors.New("password=hunter2"), internal},
		{
			"a wrapped problem", fmt.Errorf("a: %w", fmt.Errorf("b: %w", problem.New(problem.Conflict, "No."))),
			problem.Error{Name: problem.Conflict, Status: 409, Detail: "No."},
		},
		{
			"the outermost of two problems",
			problem.New(problem.Unavailable, "Later.").WithCause(problem.New(problem.Conflict, "No.")),
			problem.Error{Name: problem.Unavailable, Status: 503, Detail: "Later.", RetryAfter: time.Second},
		},
		{
			"one of two joined errors", errors.Join(io.EOF, problem.New(problem.Conflict, "No.")),
			problem.Error{Name: problem.Conflict, Status: 409, Detail: "No."},
		},
		{
			"a name alone", fmt.Errorf("redis: %w", problem.Starting),
			problem.Error{Name: problem.Starting, Status: 503, RetryAfter: time.Second},
		},
		{
			"a body over the limit", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 512}),
			problem.Error{Name: problem.BodyTooLarge, Status: 413, Detail: "The body may have 512 bytes at most. Send less."},
		},
		{
			"a literal with its own status and time",
			&problem.Error{Name: problem.LaneFull, Status: 420, RetryAfter: time.Minute},
			problem.Error{Name: problem.LaneFull, Status: 420, RetryAfter: time.Minute},
		},
		{
			"a time below zero", problem.New(problem.LaneFull, "").WithRetryAfter(-time.Minute),
			problem.Error{Name: problem.LaneFull, Status: 429, RetryAfter: time.Second},
		},
		{"a name that is not in the table", &problem.Error{Name: "surprise"}, problem.Error{Name: "surprise", Status: 500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := problem.From(tt.err)
			if diff := cmp.Diff(tt.want, *got, cmpopts.IgnoreFields(problem.Error{}, "Err"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("a shared problem is not changed by being answered", func(t *testing.T) {
		t.Parallel()
		shared := &problem.Error{Name: problem.LaneFull, Extra: map[string]any{"depth": 1}}
		problem.From(shared).With("depth", 2).RetryAfter = time.Hour
		want := &problem.Error{Name: problem.LaneFull, Extra: map[string]any{"depth": 1}}
		if diff := cmp.Diff(want, shared); diff != "" {
			t.Errorf("shared problem (-want +got):\n%s", diff)
		}
	})
}
