package openapitest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/functions/ingest/openapitest"
)

// judge keeps what a check finds.
type judge struct {
	testing.TB
	found string
}

func (j *judge) Helper() {}

func (j *judge) Errorf(_ string, args ...any) { j.found = args[3].(error).Error() }

const (
	lane    = `{"key":"k","depth":0,"running":[],"interval_ms":0,"paused":false,"policy":{"name":"*","spacing_ms":0,"burst":1,"concurrency":1},"why":{"reason":"idle","detail":"No request waits or runs."}}`
	missing = `{"type":"urn:seriatim:problem:no-lane-policy","title":"T","status":404,"detail":"D"}`
	id      = "fxtne5gktqtuxpkrtqsqkel2bn"
)

func TestWhatTheDescriptionDoesNotHaveIsFound(t *testing.T) {
	t.Parallel()
	own := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}
	wrong := http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}, "Seriatim-Status": {"error"}}
	target := http.Header{"Cache-Control": {"no-store"}, "Seriatim-Status": {"done"}}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h[name] = []string{value}
		return h
	}
	for name, tt := range map[string]struct {
		call, sent string
		status     int
		header     http.Header
		body       string
		want       string // empty: nothing
	}{
		"what it has":                   {"GET /v1/lanes/a%2Fb", "", 200, own, lane, ""},
		"a member":                      {"GET /v1/lanes/k", "", 200, own, strings.Replace(lane, `"depth"`, `"more":1,"depth"`, 1), "more"},
		"a word":                        {"GET /v1/lanes/k", "", 200, own, strings.Replace(lane, "idle", "bored", 1), "reason"},
		"a member that is not there":    {"GET /v1/lanes/k", "", 200, own, strings.Replace(lane, `"depth":0,`, "", 1), "depth"},
		"a status":                      {"GET /v1/lanes/k", "", 418, own, lane, "status"},
		"a header":                      {"GET /v1/lanes/k", "", 200, with(own, "Seriatim-Mood", "good"), lane, "Seriatim-Mood"},
		"a header that is not there":    {"GET /v1/lanes/k", "", 404, with(own, "Content-Type", "application/problem+json"), missing, "Seriatim-Status"},
		"a content type":                {"GET /v1/lanes/k", "", 200, with(own, "Content-Type", "text/plain"), lane, "text/plain"},
		"a problem that it has":         {"GET /v1/lanes/k", "", 404, wrong, missing, ""},
		"a problem of another status":   {"GET /v1/lanes/k", "", 404, wrong, strings.Replace(missing, "404", "409", 1), "value must be 404"},
		"a problem of another call":     {"GET /v1/lanes/k", "", 404, wrong, strings.Replace(missing, "no-lane-policy", "unknown-target", 1), "value must be 'urn:seriatim:problem:no-route'"},
		"an unknown path":               {"GET /v1/lanes", "", 404, wrong, strings.Replace(missing, "no-lane-policy", "no-route", 1), ""},
		"a read of the URL itself":      {"GET /v1/fetch/shop/", "", 200, http.Header{"Cache-Status": {"seriatim;hit"}}, "x", ""},
		"a read of what lies below it":  {"GET /v1/fetch/shop/a/b", "", 200, http.Header{"Cache-Status": {"seriatim;hit"}}, "x", ""},
		"a target's 404":                {"POST /v1/lanes/k/requests", "x", 404, target, "no such product", ""},
		"a target's problem":            {"POST /v1/lanes/k/requests", "x", 404, with(target, "Content-Type", "application/problem+json"), `{"type":"about:blank"}`, ""},
		"a problem that submit has not": {"POST /v1/lanes/k/requests", "x", 404, wrong, strings.Replace(missing, "no-lane-policy", "unknown-request", 1), "value must be 'urn:seriatim:problem:no-route'"},
		"a request that may not succeed": {
			"POST /v1/lanes/k/requests/" + id + "/resolve", `{"as":"maybe"}`, 200, own, lane, "not allowed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(tt.call, " ")
			r := httptest.NewRequest(method, path, nil)
			r.Header.Set("Content-Type", "application/json")
			j := &judge{TB: t}
			openapitest.Check(j, r, []byte(tt.sent), tt.status, tt.header, []byte(tt.body))
			if (j.found == "") != (tt.want == "") || !strings.Contains(j.found, tt.want) {
				t.Errorf("found %q, want %q", j.found, tt.want)
			}
		})
	}
}
