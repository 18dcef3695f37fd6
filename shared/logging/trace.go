package logging

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
)

// TraceContext says which trace a request belongs to, and which span called
// us. The zero value stands for none.
type TraceContext struct {
	TraceID string // 32 lower-case hexadecimal digits, not all zero
	SpanID  string // 16 lower-case hexadecimal digits, not all zero; "" if unknown
	Sampled bool
}

// Trace reads the request's traceparent header, else X-Cloud-Trace-Context,
// which Google's front end sets. A malformed header counts as absent: a trace
// is never a reason to refuse a request.
func Trace(r *http.Request) TraceContext {
	if tc := ParseTraceparent(r.Header.Get("traceparent")); tc.TraceID != "" {
		return tc
	}
	return parseCloudTrace(r.Header.Get("X-Cloud-Trace-Context"))
}

// ParseTraceparent reads a W3C traceparent, of version 00 or a later one that
// begins like it. It returns the zero value for anything else.
func ParseTraceparent(header string) TraceContext {
	version, rest, _ := strings.Cut(header, "-")
	traceID, rest, _ := strings.Cut(rest, "-")
	spanID, rest, _ := strings.Cut(rest, "-")
	flags, _, more := strings.Cut(rest, "-")
	switch {
	case !isHex(version, 2) || version == "ff",
		!isHex(flags, 2) || more && version == "00",
		!isID(traceID, 32) || !isID(spanID, 16):
		return TraceContext{}
	}
	bits, _ := strconv.ParseUint(flags, 16, 8) // isHex said so
	return TraceContext{TraceID: traceID, SpanID: spanID, Sampled: bits&1 == 1}
}

// parseCloudTrace reads TRACE_ID[/SPAN_ID][;o=FLAGS], the span in decimal.
func parseCloudTrace(header string) TraceContext {
	ids, options, _ := strings.Cut(header, ";")
	traceID, span, _ := strings.Cut(ids, "/")
	traceID = strings.ToLower(traceID)
	if !isID(traceID, 32) {
		return TraceContext{}
	}
	tc := TraceContext{TraceID: traceID, Sampled: options == "o=1"}
	if n, err := strconv.ParseUint(span, 10, 64); err == nil && n != 0 {
		tc.SpanID = fmt.Sprintf("%016x", n)
	}
	return tc
}

// Attrs are the attributes for [slog.Logger.With] that tie its lines to the
// trace; none for the zero value.
func (tc TraceContext) Attrs() []any {
	if tc.TraceID == "" {
		return nil
	}
	attrs := []any{slog.String(traceKey, tc.TraceID), slog.Bool(sampledKey, tc.Sampled)}
	if tc.SpanID != "" {
		attrs = append(attrs, slog.String(spanKey, tc.SpanID))
	}
	return attrs
}

// isID: an id of all zeros means "none" in both headers.
func isID(s string, digits int) bool {
	return isHex(s, digits) && strings.Trim(s, "0") != ""
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
