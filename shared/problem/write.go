package problem

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/seriatim/seriatim/shared/logging"
)

// Write answers r with the problem that [From] makes of err. Headers set
// before stay, such as Allow, RateLimit or another Seriatim-Status than the
// default "error", but for those that describe another body.
//
// Answers of 500 and above are logged with their whole chain of causes: as an
// error when it is ours, as a warning when it is a dependency's or a target's.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := From(err)
	body, encodeErr := p.encode()
	record(r.Context(), p, err, encodeErr)

	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if h.Get("Seriatim-Status") == "" {
		h.Set("Seriatim-Status", "error")
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", seconds(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // it fails only when the client has gone
}

// seconds rounds up: a client must not be back too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d-1)/time.Second)+1, 10)
}

// encode returns the JSON object. When an extension member cannot be encoded
// it returns the object without any, and the error.
func (e *Error) encode() ([]byte, error) {
	members := map[string]any{"type": e.Name.URI(), "status": e.Status}
	if title := kinds[e.Name].title; title != "" {
		members["title"] = title
	}
	if e.Detail != "" {
		members["detail"] = e.Detail
	}
	extended := maps.Clone(e.Extra)
	if extended == nil {
		extended = map[string]any{}
	}
	maps.Copy(extended, members)
	body, err := json.Marshal(extended)
	if err != nil {
		body, _ = json.Marshal(members) // strings and an integer
	}
	return body, err
}

func record(ctx context.Context, p *Error, err, encodeErr error) {
	logger := logging.FromContext(ctx)
	if encodeErr != nil {
		logger.ErrorContext(ctx, "problem has an extension member that is no JSON",
			"problem", string(p.Name), logging.Error, encodeErr.Error())
	}
	if p.Status < http.StatusInternalServerError {
		return
	}
	level := slog.LevelWarn
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		level = slog.LevelInfo // the client has gone and ended its own request
	case p.Status == http.StatusInternalServerError:
		level = slog.LevelError
	}
	attrs := []any{"problem", string(p.Name), "status", p.Status}
	if err != nil {
		attrs = append(attrs, logging.Error, err.Error())
	}
	logger.Log(ctx, level, "request failed", attrs...)
}
