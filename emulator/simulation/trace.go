package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/seriatim/seriatim/shared/logging"
)

func withLogger(ctx context.Context, l *slog.Logger) context.Context {
	return logging.WithContext(ctx, l)
}

// traceHandler writes log lines of warning and above into the trace.
type traceHandler struct {
	world *World
	attrs []slog.Attr
}

func (h *traceHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h *traceHandler) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	lane := ""
	for _, a := range h.attrs {
		if a.Key == logging.Lane {
			lane = a.Value.String()
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&text, " %s=%v", a.Key, a.Value)
		return true
	})
	h.world.note(lane, "log: %s%s", r.Message, text.String())
	return nil
}

func (h *traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &traceHandler{world: h.world, attrs: append(append([]slog.Attr{}, h.attrs...), attrs...)}
}

func (h *traceHandler) WithGroup(string) slog.Handler { return h }

// Trace is the history of a run with tracing on, one step a line.
func (r Result) Trace() string {
	var b strings.Builder
	for _, l := range r.lines {
		fmt.Fprintf(&b, "%12.6f %-6s %s\n", l.at.Seconds(), l.lane, l.text)
	}
	return b.String()
}
