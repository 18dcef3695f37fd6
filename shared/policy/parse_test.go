package policy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/policy"
)

// shortest leaves out all that may be left out.
const shortest = `
targets:
  t: {url: "http://127.0.0.1/t"}
lanes:
  - {match: "*", target: t, spacing: 0s}
`

func shortestDocument() *policy.Document {
	return &policy.Document{
		Log: policy.Log{Sample: 1},
		Targets: map[string]*policy.Target{"t": {
			Name: "t", URL: "http://127.0.0.1/t", Method: "POST", Timeout: time.Minute, Immediate: true,
			Retry: policy.RetryRules{Statuses: []int{408, 425, 429}, Classes: []int{5}, Timeout: true, Refused: true},
		}},
		Lanes: []*policy.Lane{{
			Match: "*", Name: "*", Target: "t", Targets: []string{"t"}, Burst: 1, Concurrency: 1,
			Respond: policy.Immediate, Lease: 30 * time.Second, Attempts: 20, MaxAge: 24 * time.Hour,
			Backoff:   policy.Backoff{Min: time.Second, Max: 10 * time.Minute},
			Exhausted: policy.DeadLetter, Ambiguous: policy.Retry, MaxDepth: 20_000,
			Retention: 24 * time.Hour, Durable: true, Decide: policy.Redis,
		}},
	}
}

const longest = `
# Everything that can be said today.
targets:
  billing.v2:
    url: {env: URL}
    method: PUT
    timeout: 25m
    headers: {authorization: {env: TOKEN}, X-Team: blue}
    forward: [x-trace, Accept-Language]
    secret: {env: SECRET}
    retry: [408, 5xx, 3xx, timeout]
    immediate: false
  mail:
    url: https://mail.example/send?via=seriatim
    audience: https://mail.example
    retry: []
lanes:
  - match: {env: PATTERN}
    name: from the environment
    target: mail
    targets: [billing.v2, mail]
    spacing: {env: SPACING}
    burst: 1000
    concurrency: 3
    respond: async
    lease: 10m
    attempts: 1
    max_age: 1s
    backoff: {max: 1s, min: 1ms}
    exhausted: dead-letter
    ambiguous: retry
    max_depth: 1000000
    retention: 720h
    durable: false
  - match: |-
      *
    target: billing.v2
    spacing: 1.000001ms
    decide: firestore
origins:
  shop:
    url: https://shop.example/api
    timeout: 1s
    headers: {x-team: blue}
    vary: [accept-language, x-currency]
    ttl: 0s
    stale_while_revalidate: 30s
    stale_if_error: 720h
    negative_ttl: 0s
    max_bytes: 1GiB
  plain: {url: "http://127.0.0.1:1/"}
`

func longestDocument() *policy.Document {
	doc := shortestDocument()
	last := doc.Lanes[0]
	last.Target, last.Targets, last.Spacing = "billing.v2", []string{"billing.v2"}, 2*time.Millisecond
	last.Decide = policy.Firestore
	return &policy.Document{
		Log: policy.Log{Sample: 1},
		Targets: map[string]*policy.Target{
			"billing.v2": {
				Name: "billing.v2", URL: "https://env.example/work", Method: "PUT", Timeout: 25 * time.Minute,
				Headers: map[string]string{"Authorization": "hunter2-from-env", "X-Team": "blue"},
				Forward: []string{"X-Trace", "Accept-Language"}, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
				Retry: policy.RetryRules{Statuses: []int{408}, Classes: []int{5, 3}, Timeout: true},
			},
			"mail": {
				Name: "mail", URL: "https://mail.example/send?via=seriatim", Method: "POST", Timeout: time.Minute,
				Audience: "https://mail.example", Immediate: true,
			},
		},
		Lanes: []*policy.Lane{{
			Match: "env:*", Name: "from the environment", Target: "mail", Targets: []string{"billing.v2", "mail"},
			Spacing: 3 * time.Second, Burst: 1000, Concurrency: 3, Respond: policy.Async, Lease: 10 * time.Minute,
			Attempts: 1, MaxAge: time.Second, Backoff: policy.Backoff{Min: time.Millisecond, Max: time.Second},
			Exhausted: policy.DeadLetter, Ambiguous: policy.Retry, MaxDepth: 1_000_000, Retention: 720 * time.Hour, Decide: policy.Redis,
		}, last},
		Origins: map[string]*policy.Origin{
			"shop": {
				Name: "shop", URL: "https://shop.example/api", Timeout: time.Second, Headers: map[string]string{"X-Team": "blue"},
				Vary: []string{"Accept-Language", "X-Currency"}, StaleWhileRevalidate: 30 * time.Second,
				StaleIfError: 720 * time.Hour, MaxBytes: 1 << 30,
			},
			"plain": {
				Name: "plain", URL: "http://127.0.0.1:1/", Timeout: 5 * time.Second, TTL: time.Minute, NegativeTTL: time.Second,
				MaxBytes: 64 << 20,
			},
		},
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		want      *policy.Document
	}{
		{"what is left out has its default", shortest, shortestDocument()},
		{"everything can be said", longest, longestDocument()},
		{
			"JSON, with tabs and escapes",
			"{\n\t\"targets\": {\"t\": {\"url\": \"http:\\/\\/127.0.0.1\\/t\"}},\n\t\"lanes\": [{\"match\": \"\\u002a\", \"target\": \"t\", \"spacing\": \"0s\"}]\n}",
			shortestDocument(),
		},
		{"line ends and byte order mark of Windows", "\ufeff" + strings.ReplaceAll(shortest, "\n", "\r\n"), shortestDocument()},
		{"a document start", "---" + shortest, shortestDocument()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, mustParse(t, tt.doc)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	const quotes = "; texts that begin with * or { and are no mapping need quotes"
	for _, tt := range []struct{ name, doc, want string }{
		{"empty", "", "the document is empty"},
		{"comments only", "# nothing\n", "the document is empty"},
		{"a text", "lanes", "want a mapping, got a string"},
		{"a list", "- lanes", "want a mapping, got a list"},
		{"two documents", shortest + "---" + shortest, "there are 2 YAML documents, want one: remove the --- lines"},
		{"not UTF-8", "targets: \xff", "the document is not UTF-8"},
		{"too long", strings.Repeat("#", 256<<10+1), "the document has 262145 bytes, want 262144 at most"},
		{"a star without quotes", "lanes:\n  - match: *\n", "line 2, column 12: undefined alias name" + quotes},
		{"a secret near a mistake", "targets:\n  t: {secret: \"hunter2\n", "line 2, column 15: could not find end character of double-quoted text" + quotes},
		{"bad indentation", "targets:\n  t:\n url: x\n", "line 3, column 2: value is not allowed in this context" + quotes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, tt.doc, []string{tt.want})
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	_, err := policy.Parse([]byte("targets: {}\nlanes: []\n"), environment(nil))

	if want := "targets: is empty, want one at least\nlanes: is empty, want one at least"; err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
	var one policy.Fault
	want := policy.Fault{Path: "targets", Message: "is empty, want one at least"}
	if !errors.As(err, &one) || one != want {
		t.Errorf("first fault %+v, want %+v", one, want)
	}
}

func TestDocumentLongest(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, longest)
	if got := doc.LongestTimeout(); got != 25*time.Minute {
		t.Errorf("longest timeout %v, want 25m", got)
	}
	if got := doc.LongestLease(); got != 10*time.Minute {
		t.Errorf("longest lease %v, want 10m", got)
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, longest)
	rules, never := doc.Targets["billing.v2"].Retry, doc.Targets["mail"].Retry
	for status, want := range map[int]bool{200: false, 302: true, 400: false, 408: true, 409: false, 429: false, 500: true, 503: true, 599: true, 600: false, 0: false, -500: false} {
		if got := rules.Retryable(status); got != want {
			t.Errorf("%d: retryable %v, want %v", status, got, want)
		}
		if never.Retryable(status) {
			t.Errorf("%d is retryable by an empty list", status)
		}
	}
}
