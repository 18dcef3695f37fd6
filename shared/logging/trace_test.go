package logging_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/logging"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestTrace(t *testing.T) {
	t.Parallel()
	none := logging.TraceContext{}
	sampled := logging.TraceContext{TraceID: traceID, SpanID: spanID, Sampled: true}
	for _, tt := range []struct {
		name, traceparent, cloud string
		want                     logging.TraceContext
	}{
		{name: "no header", want: none},
		{name: "sampled", traceparent: "00-" + traceID + "-" + spanID + "-01", want: sampled},
		{
			name: "not sampled, other flags", traceparent: "00-" + traceID + "-" + spanID + "-fe",
			want: logging.TraceContext{TraceID: traceID, SpanID: spanID},
		},
		{name: "a later version with more fields", traceparent: "cc-" + traceID + "-" + spanID + "-01-what", want: sampled},
		{name: "version 00 with more fields", traceparent: "00-" + traceID + "-" + spanID + "-01-what"},
		{name: "version ff is forbidden", traceparent: "ff-" + traceID + "-" + spanID + "-01"},
		{name: "a zero trace", traceparent: "00-00000000000000000000000000000000-" + spanID + "-01"},
		{name: "a zero span", traceparent: "00-" + traceID + "-0000000000000000-01"},
		{name: "upper case", traceparent: "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + spanID + "-01"},
		{name: "short", traceparent: "00-" + traceID + "-" + spanID},
		{name: "dashes only", traceparent: "----"},
		{name: "a line break", traceparent: "00-" + traceID + "-" + spanID + "-0\n"},
		{name: "Google's header, span in decimal", cloud: traceID + "/67667974448284343;o=1", want: sampled},
		{name: "Google's header, upper case", cloud: "4BF92F3577B34DA6A3CE929D0E0E4736/67667974448284343;o=1", want: sampled},
		{name: "Google's header, trace only", cloud: traceID, want: logging.TraceContext{TraceID: traceID}},
		{name: "Google's header, span too large", cloud: traceID + "/99999999999999999999", want: logging.TraceContext{TraceID: traceID}},
		{name: "Google's header, no trace", cloud: "/1;o=1"},
		{
			name:        "traceparent before Google's",
			traceparent: "00-" + traceID + "-" + spanID + "-01", cloud: "ffffffffffffffffffffffffffffffff/1", want: sampled,
		},
		{name: "Google's after a malformed traceparent", traceparent: "00-x", cloud: traceID + "/67667974448284343;o=1", want: sampled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{}}
			r.Header.Set("traceparent", tt.traceparent)
			r.Header.Set("X-Cloud-Trace-Context", tt.cloud)
			if diff := cmp.Diff(tt.want, logging.Trace(r)); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("no trace gives no attributes", func(t *testing.T) {
		t.Parallel()
		if got := none.Attrs(); len(got) != 0 {
			t.Errorf("attributes %v, want none", got)
		}
	})
}
