package logging

import (
	"context"
	"io"
	"log/slog"
)

// Attribute names: one name for one thing in every log line, so that one
// filter finds all lines about it.
const (
	Lane    = "lane"    // the key, decoded
	Request = "request" // the request's id
	Ticket  = "ticket"  // integer
	Fence   = "fence"   // integer
	Attempt = "attempt" // integer: the grant's number, 1 for the first
	Task    = "task"    // the task's name in Cloud Tasks, without its queue
	Target  = "target"  // the target's name in the configuration
	Verdict = "verdict" // a slot script's answer
	Error   = "error"   // an error's text
	// ClientTrace is the trace id of the client's submission, where the line belongs to another call's trace.
	ClientTrace = "client_trace"
)

// Critical is the level of what an operator must look at now, such as a wrong
// envelope key. Use it as logger.Log(ctx, logging.Critical, …).
const Critical = slog.LevelError + 4

// Names that Cloud Logging takes out of the JSON object into the entry itself:
// https://cloud.google.com/logging/docs/structured-logging
const (
	severityKey = "severity"
	messageKey  = "message"
	traceKey    = "logging.googleapis.com/trace"
	spanKey     = "logging.googleapis.com/spanId"
	sampledKey  = "logging.googleapis.com/trace_sampled"
)

// New returns a logger that writes to w, from level Debug on. project is the
// Google Cloud project of the traces; without one ("") a trace is logged by
// its bare id and Cloud Logging does not link it. w gets one Write a line, and
// no two at once.
func New(w io.Writer, project string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			return rename(a, project)
		},
	}))
}

func rename(a slog.Attr, project string) slog.Attr {
	switch a.Key {
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String(severityKey, severity(level))
		}
	case slog.MessageKey:
		a.Key = messageKey
	case traceKey:
		if project != "" {
			a.Value = slog.StringValue("projects/" + project + "/traces/" + a.Value.String())
		}
	}
	return a
}

// severity is the highest of Cloud Logging's that level reaches.
func severity(level slog.Level) string {
	switch {
	case level >= Critical:
		return "CRITICAL"
	case level >= slog.LevelError:
		return "ERROR"
	case level >= slog.LevelWarn:
		return "WARNING"
	case level >= slog.LevelInfo:
		return "INFO"
	default:
		return "DEBUG"
	}
}

type contextKey struct{}

// WithContext returns a context that carries logger.
func WithContext(ctx context.Context, logger *slog.Logger) context.Context {
	return context.WithValue(ctx, contextKey{}, logger)
}

// FromContext returns the logger of the innermost [WithContext].
// Defaults to slog.Default().
func FromContext(ctx context.Context) *slog.Logger {
	if logger, ok := ctx.Value(contextKey{}).(*slog.Logger); ok {
		return logger
	}
	return slog.Default()
}
