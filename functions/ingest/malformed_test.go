package ingest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/problem"
)

func TestBadInputIsRefusedByName(t *testing.T) {
	t.Parallel()
	const lane = "/v1/lanes/lane-a/requests"
	long := strings.Repeat("a", 257)
	for name, tt := range map[string]struct {
		method, path string
		body         string
		headers      []header
		status       int
		problem      problem.Name
	}{
		"a key that is empty":              {"POST", "/v1/lanes//requests", "", nil, 400, problem.MalformedKey},
		"a key that is too long":           {"POST", "/v1/lanes/" + long + "/requests", "", nil, 400, problem.MalformedKey},
		"a key with a control character":   {"POST", "/v1/lanes/lane-%00/requests", "", nil, 400, problem.MalformedKey},
		"a key with a C1 control":          {"POST", "/v1/lanes/lane-%C2%85/requests", "", nil, 400, problem.MalformedKey},
		"a key that is a dot":              {"POST", "/v1/lanes/%2E/requests", "", nil, 400, problem.MalformedKey},
		"a key that is two dots":           {"GET", "/v1/lanes/%2e%2e", "", nil, 400, problem.MalformedKey},
		"a key that is no UTF-8":           {"GET", "/v1/lanes/lane-%ff", "", nil, 400, problem.MalformedKey},
		"a key without a policy":           {"POST", "/v1/lanes/nobody/requests", "", nil, 404, problem.NoLanePolicy},
		"a state without a policy":         {"GET", "/v1/lanes/nobody", "", nil, 404, problem.NoLanePolicy},
		"an empty idempotency key":         {"POST", lane, "", []header{once("")}, 400, problem.MalformedHeader},
		"an empty quoted one":              {"POST", lane, "", []header{once(`""`)}, 400, problem.MalformedHeader},
		"an idempotency key too long":      {"POST", lane, "", []header{once(strings.Repeat("k", 256))}, 400, problem.MalformedHeader},
		"one with its quote open":          {"POST", lane, "", []header{once(`"k`)}, 400, problem.MalformedHeader},
		"one that is no ASCII":             {"POST", lane, "", []header{once("kéy")}, 400, problem.MalformedHeader},
		"two different ones":               {"POST", lane, "", []header{once("k"), once("l")}, 400, problem.MalformedHeader},
		"an unknown target":                {"POST", lane, "", []header{{"Seriatim-Target", "nowhere"}}, 404, problem.UnknownTarget},
		"a target that is not the lane's":  {"POST", lane, "", []header{{"Seriatim-Target", "capped"}}, 404, problem.UnknownTarget},
		"an empty target":                  {"POST", lane, "", []header{{"Seriatim-Target", ""}}, 400, problem.MalformedHeader},
		"two targets":                      {"POST", lane, "", []header{{"Seriatim-Target", "work"}, {"Seriatim-Target", "other"}}, 400, problem.MalformedHeader},
		"a preference with its quote open": {"POST", lane, "", []header{{"Prefer", `respond-async, x="`}}, 400, problem.MalformedHeader},
		"a preference that is no word":     {"POST", lane, "", []header{{"Prefer", `"respond-async"`}}, 400, problem.MalformedHeader},
		"a preference without a name":      {"POST", lane, "", []header{{"Prefer", `=1`}}, 400, problem.MalformedHeader},
		"a header that is no UTF-8":        {"POST", lane, "", []header{{"X-Tenant", "\xff"}}, 400, problem.MalformedHeader},
		"a content type that is no UTF-8":  {"POST", lane, "", []header{{"Content-Type", "text/\xff"}}, 400, problem.MalformedHeader},
		"headers that fit no task":         {"POST", lane, "", []header{{"X-Tenant", strings.Repeat("<", 33<<10)}}, 400, problem.MalformedHeader},
		"a body that is too large":         {"POST", lane, strings.Repeat("b", 512<<10+1), nil, 413, problem.BodyTooLarge},
		"a state of an id that is none":    {"GET", lane + "/xyz", "", nil, 404, problem.UnknownRequest},
		"a state of no id":                 {"GET", lane + "/", "", nil, 404, problem.UnknownRequest},
		"a state of an unknown id":         {"GET", lane + "/" + strings.Repeat("a", 26), "", nil, 404, problem.UnknownRequest},
		"a result of an unknown id":        {"GET", lane + "/" + strings.Repeat("a", 26) + "/result", "", nil, 404, problem.UnknownRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := b.call(tt.method, tt.path, tt.body, tt.headers...)
			wantProblem(t, w, tt.status, tt.problem)
			if got := w.Header().Get("Seriatim-Status"); got != "error" {
				t.Errorf("Seriatim-Status %q, want error", got)
			}
			if keys := b.rdb.DBSize(t.Context()).Val(); keys != 0 || b.queue.count() != 0 || len(b.target.calls()) != 0 {
				t.Errorf("refused, yet %d keys, %d tasks, %d calls", keys, b.queue.count(), len(b.target.calls()))
			}
		})
	}
}

func TestTheLargestRequestFitsATask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.queue.set(nil)
	w := b.call("POST", "/v1/lanes/lane-a/requests", strings.Repeat("b", 512<<10), async, header{"X-Tenant", strings.Repeat("<", 32<<10-8)})
	got := wantAccepted(t, w)
	task, _ := b.queue.task(got.Ticket, 0)
	if _, _, err := sealer(t).Seal(task.Envelope); err != nil {
		t.Errorf("accepted, but %v", err)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	t.Run("a path that is none is 404", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/", "/v1", "/v1/lanes", "/v2/lanes/lane-a", "/v1/lanes/a/b/requests", "/v1/lanes/lane-a/", "/v1/health/"} {
			wantProblem(t, b.call("POST", path, ""), 404, problem.NoRoute)
		}
	})
	t.Run("another method is 405 and says which there are", func(t *testing.T) {
		t.Parallel()
		for call, allow := range map[string]string{
			"PUT /v1/lanes/lane-a/requests":                                       "GET, HEAD, POST",
			"OPTIONS /v1/lanes/lane-a/requests":                                   "GET, HEAD, POST",
			"POST /v1/lanes/lane-a":                                               "GET, HEAD",
			"PATCH /v1/lanes/lane-a/requests/" + strings.Repeat("a", 26):          "DELETE, GET, HEAD",
			"GET /v1/lanes/lane-a/purge":                                          "POST",
			"DELETE /v1/health":                                                   "GET, HEAD",
			"POST /v1/fetch/shop/some/path":                                       "DELETE, GET, HEAD",
			"HEAD /v1/lanes/lane-a/requests/" + strings.Repeat("a", 26) + "/skip": "POST",
		} {
			method, path, _ := strings.Cut(call, " ")
			w := b.call(method, path, "")
			wantProblem(t, w, 405, problem.MethodNotAllowed)
			if got := w.Header().Get("Allow"); got != allow {
				t.Errorf("%s: Allow %q, want %q", call, got, allow)
			}
		}
	})
}

func TestAKeyArrivesAsItWasMeant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// As in the functions framework, a ServeMux stands in front, which redirects paths that it takes for unclean.
	mux := http.NewServeMux()
	mux.Handle("/", b.handler)
	b.handler = mux
	for sent, want := range map[string]string{
		"lane-a%2Fb":       "lane-a/b",
		"lane-%2F%2Fa":     "lane-//a",
		"lane-{a}%2Fb":     "lane-{a}/b", // a brace that ought to be encoded beside a slash that is
		"lane-{t}:7":       "lane-{t}:7",
		"lane-%7Bt%7D%3A7": "lane-{t}:7",
		"lane-100%25":      "lane-100%",
		"lane-%2e%2e":      "lane-..",
		"lane-a+b%20c":     "lane-a+b c",
		"lane-%E6%97%A5":   "lane-日",
		"lane-a;b=c":       "lane-a;b=c",
	} {
		w := b.get("/v1/lanes/" + sent)
		if got := body[struct{ Key string }](t, w).Key; got != want {
			t.Errorf("sent %s, got %q, want %q", sent, got, want)
		}
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := httptest.NewRequest("POST", "/v1/lanes/lane-a/requests", broken{})
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	wantProblem(t, w, 400, problem.MalformedHeader)
	if keys := b.rdb.DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("half a request took a ticket: %d keys", keys)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %w", errCut) }
