package problem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
)

type bundle struct {
	w   *httptest.ResponseRecorder
	r   *http.Request
	log *bytes.Buffer
}

func setup(t *testing.T) *bundle {
	t.Helper()
	log := new(bytes.Buffer)
	ctx := logging.WithContext(t.Context(), logging.New(log, ""))
	return &bundle{
		w:   httptest.NewRecorder(),
		r:   httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/lanes/k/requests", nil),
		log: log,
	}
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	got := map[string]any{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return got
}

func TestWrite(t *testing.T) {
	t.Parallel()

	t.Run("the statuses are those of API.md", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[problem.Name]int{
			"malformed-key": 400, "malformed-header": 400, "forbidden": 403, "no-route": 404,
			"no-lane-policy": 404, "unknown-target": 404, "unknown-request": 404,
			"method-not-allowed": 405, "deadline-unreachable": 409, "not-finished": 409,
			"conflict": 409, "cancelled": 410, "body-too-large": 413, "key-reused": 422,
			"lane-full": 429, "target-failed": 502, "target-timeout": 504, "unavailable": 503,
			"starting": 503, "outcome-unknown": 503, "internal": 500,
		} {
			b := setup(t)
			problem.Write(b.w, b.r, problem.New(name, "Do this."))
			body := object(t, b.w.Body.Bytes())
			if b.w.Code != want || body["status"] != float64(want) || body["type"] != "urn:seriatim:problem:"+string(name) {
				t.Errorf("%s: %d with %v, want %d", name, b.w.Code, body, want)
			}
			if title, _ := body["title"].(string); title == "" {
				t.Errorf("%s has no title", name)
			}
		}
	})

	t.Run("an answer is complete", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		err := problem.New(problem.DeadlineUnreachable, "Submit with a later deadline.").
			With("earliest", "2026-12-01T10:00:03.250Z").WithRetryAfter(1500 * time.Millisecond)
		problem.Write(b.w, b.r, fmt.Errorf("submit: %w", err))

		wantBody := map[string]any{
			"type": "urn:seriatim:problem:deadline-unreachable", "title": "The deadline cannot be met", "status": 409.0,
			"detail": "Submit with a later deadline.", "earliest": "2026-12-01T10:00:03.250Z",
		}
		if diff := cmp.Diff(wantBody, object(t, b.w.Body.Bytes())); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		wantHeader := http.Header{
			"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"},
			"Retry-After": {"2"}, "Seriatim-Status": {"error"},
		}
		if diff := cmp.Diff(wantHeader, b.w.Header()); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})

	t.Run("Retry-After is rounded up", func(t *testing.T) {
		t.Parallel()
		for d, want := range map[time.Duration]string{
			1: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 2*time.Second - 1: "2", time.Hour: "3600",
			1<<63 - 1: "9223372037",
		} {
			b := setup(t)
			problem.Write(b.w, b.r, problem.New(problem.LaneFull, "").WithRetryAfter(d))
			if got := b.w.Header().Get("Retry-After"); got != want {
				t.Errorf("%v: Retry-After %q, want %q", d, got, want)
			}
		}
	})

	t.Run("the handler's headers stay, those of another body go", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for name, value := range map[string]string{
			"Allow": "POST", "Seriatim-Status": "cancelled", "Content-Length": "1", "Content-Encoding": "gzip", "Content-Type": "text/csv",
		} {
			b.w.Header().Set(name, value)
		}
		problem.Write(b.w, b.r, problem.New(problem.Cancelled, ""))
		want := http.Header{
			"Allow": {"POST"}, "Seriatim-Status": {"cancelled"},
			"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"},
		}
		if diff := cmp.Diff(want, b.w.Header()); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})

	t.Run("extension members replace no member of the standard", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		problem.Write(b.w, b.r, problem.New(problem.Conflict, "Wait.").With("status", 200).With("type", "x").With("detail", "y"))
		body := object(t, b.w.Body.Bytes())
		if body["status"] != 409.0 || body["type"] != "urn:seriatim:problem:conflict" || body["detail"] != "Wait." {
			t.Errorf("body %v", body)
		}
	})

	t.Run("an extension member that is no JSON costs only the extension", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		problem.Write(b.w, b.r, problem.New(problem.Conflict, "Wait.").With("slot", make(chan int)))
		if b.w.Code != 409 || object(t, b.w.Body.Bytes())["detail"] != "Wait." {
			t.Errorf("answer %d %s", b.w.Code, b.w.Body)
		}
		if got := object(t, b.log.Bytes()); got["severity"] != "ERROR" || got["problem"] != "conflict" {
			t.Errorf("log %v, want an error about conflict", got)
		}
	})

	t.Run("the client never sees a cause", func(t *testing.T) {
		t.Parallel()
		secret := errors.New("dial 10.1.2.3: refused")
		for _, err := range []error{
			secret, fmt.Errorf("a: %w", secret), problem.New(problem.Unavailable, "Later.").WithCause(secret),
			fmt.Errorf("10.1.2.3: %w", problem.Conflict), errors.Join(secret, problem.New(problem.Conflict, "")),
		} {
			b := setup(t)
			problem.Write(b.w, b.r, err)
			if answer := b.w.Body.String(); strings.Contains(answer, "10.1.2.3") {
				t.Errorf("answer to %v: %s", err, answer)
			}
		}
	})
}

func TestWriteLogs(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T, b *bundle) {
		t.Helper()
		ctx, cancel := context.WithCancel(b.r.Context())
		cancel()
		b.r = b.r.WithContext(ctx)
	}
	for _, tt := range []struct {
		name    string
		err     error
		prepare func(*testing.T, *bundle)
		want    map[string]any // nil: nothing is logged
	}{
		{name: "the client's fault", err: problem.New(problem.Conflict, "No.").WithCause(io.EOF)},
		{
			name: "a dependency's fault", err: fmt.Errorf("submit: %w", problem.New(problem.Unavailable, "Later.").WithCause(io.EOF)),
			want: map[string]any{"severity": "WARNING", "problem": "unavailable", "status": 503.0, "error": "submit: unavailable: Later.: EOF"},
		},
		{
			name: "ours", err: fmt.Errorf("submit: %w", io.EOF),
			want: map[string]any{"severity": "ERROR", "problem": "internal", "status": 500.0, "error": "submit: EOF"},
		},
		{name: "no error at all", want: map[string]any{"severity": "ERROR", "problem": "internal", "status": 500.0}},
		{
			name: "a client that has gone", err: fmt.Errorf("submit: %w", context.Canceled), prepare: gone,
			want: map[string]any{"severity": "INFO", "problem": "internal", "status": 500.0, "error": "submit: context canceled"},
		},
		{
			name: "our own fault while the client has gone", err: io.EOF, prepare: gone,
			want: map[string]any{"severity": "ERROR", "problem": "internal", "status": 500.0, "error": "EOF"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if tt.prepare != nil {
				tt.prepare(t, b)
			}
			problem.Write(b.w, b.r, tt.err)
			if tt.want == nil {
				if b.log.Len() > 0 {
					t.Errorf("logged: %s", b.log)
				}
				return
			}
			got := object(t, b.log.Bytes())
			delete(got, "time")
			tt.want["message"] = "request failed"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
