package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// Trace is the history of a run with tracing on, one step a line; what repeats itself with other numbers is told once. Where a
// promise was broken it is the history of that lane.
func (r Result) Trace() string {
	lines := r.lines
	if len(r.Violations) > 0 {
		broken, _, _ := strings.Cut(r.Violations[0], ":")
		lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return broken != "" && l.lane != "" && l.lane != broken })
	}
	var b strings.Builder
	for i := 0; i < len(lines); {
		l, same := lines[i], i+1
		for same < len(lines) && l.shape() == lines[same].shape() {
			same++
		}
		fmt.Fprintf(&b, "%12.6f %-6s %s", l.at.Seconds(), l.lane, l.text)
		if more := same - i - 1; more > 0 {
			fmt.Fprintf(&b, " (and %d times more until %.6f)", more, lines[same-1].at.Seconds())
		}
		b.WriteString("\n")
		i = same
	}
	return b.String()
}

// shape is the line without its numbers.
func (l line) shape() string {
	return l.lane + " " + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, l.text)
}

// ahead is an instant from now, in milliseconds; 0 stands for none.
func ahead(at, now int64) string {
	if at == 0 {
		return "-"
	}
	return fmt.Sprintf("%+d", at-now)
}
