package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/logging"
)

type bundle struct {
	out    *bytes.Buffer
	logger *slog.Logger
}

func setup(t *testing.T, project string) *bundle {
	t.Helper()
	out := new(bytes.Buffer)
	return &bundle{out: out, logger: logging.New(out, project)}
}

// lines returns what was logged; it takes off the times after checking them.
func (b *bundle) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(b.out.String()) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil {
			t.Errorf("time: %v", err)
		}
		delete(line, "time")
		lines = append(lines, line)
	}
	return lines
}

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("levels become the severities of Cloud Logging", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "")
		levels := []slog.Level{
			slog.LevelDebug, slog.LevelInfo, slog.LevelInfo + 1, slog.LevelWarn, slog.LevelError,
			logging.Critical, logging.Critical + 1,
		}
		for _, level := range levels {
			b.logger.Log(t.Context(), level, "said")
		}
		var got []any
		for _, line := range b.lines(t) {
			got = append(got, line["severity"])
		}
		want := []any{"DEBUG", "INFO", "INFO", "WARNING", "ERROR", "CRITICAL", "CRITICAL"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("severities (-want +got):\n%s", diff)
		}
	})

	t.Run("a line has message, attributes and the trace of the project", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "acme")
		trace := logging.TraceContext{TraceID: traceID, SpanID: spanID, Sampled: true}
		b.logger.With(trace.Attrs()...).Info("request queued", logging.Lane, "tenant:1", logging.Ticket, 7)
		want := []map[string]any{{
			"severity": "INFO", "message": "request queued", "lane": "tenant:1", "ticket": 7.0,
			"logging.googleapis.com/trace":         "projects/acme/traces/" + traceID,
			"logging.googleapis.com/spanId":        spanID,
			"logging.googleapis.com/trace_sampled": true,
		}}
		if diff := cmp.Diff(want, b.lines(t)); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})

	t.Run("without a project the trace is its bare id", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "")
		b.logger.With(logging.TraceContext{TraceID: traceID}.Attrs()...).Info("said")
		if got := b.lines(t)[0]["logging.googleapis.com/trace"]; got != traceID {
			t.Errorf("trace: %v, want %s", got, traceID)
		}
	})

	t.Run("an attribute called level and a group's msg keep their own sense", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "acme")
		b.logger.Info("said", "level", "high", slog.Group("sub", "msg", "inner", "level", 3))
		want := []map[string]any{{
			"severity": "INFO", "message": "said", "level": "high",
			"sub": map[string]any{"msg": "inner", "level": 3.0},
		}}
		if diff := cmp.Diff(want, b.lines(t)); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})

	t.Run("a hundred goroutines do not mix their lines", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "")
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { b.logger.Info("said", logging.Ticket, i) })
		}
		wg.Wait()
		if got := len(b.lines(t)); got != 100 {
			t.Errorf("%d lines, want 100", got)
		}
	})
}

func TestContext(t *testing.T) {
	t.Parallel()
	b := setup(t, "")

	// Without a logger in the context there still is one to talk to.
	if got := logging.FromContext(context.Background()); got != slog.Default() {
		t.Errorf("logger of an empty context: %v, want slog.Default()", got)
	}

	// The innermost wins.
	ctx := logging.WithContext(t.Context(), b.logger)
	ctx = logging.WithContext(ctx, logging.FromContext(ctx).With(logging.Lane, "a"))
	logging.FromContext(ctx).Info("said")
	want := []map[string]any{{"severity": "INFO", "message": "said", "lane": "a"}}
	if diff := cmp.Diff(want, b.lines(t)); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}
