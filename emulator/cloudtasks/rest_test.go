package cloudtasks_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

const rest = "/v2/" + place

// ask sends one HTTP request to the server and returns status and body.
func (b *bundle) ask(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.server.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestRESTDoesWhatGRPCDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task := fmt.Sprintf(`{"task": {"name": %q, "scheduleTime": "2026-12-01T11:00:00Z", "httpRequest": {"url": %q, "body": "aGVsbG8="}}}`, queueName+"/tasks/x", b.target.URL)
	for _, step := range []struct{ method, path, body, want string }{
		{"POST", rest + "/queues?alt=json&prettyPrint=false", `{"name": "` + place + `/queues/r"}`, `"state":"RUNNING"`},
		{"PATCH", rest + "/queues/r?updateMask=rateLimits.maxDispatchesPerSecond", `{"rateLimits": {"maxDispatchesPerSecond": 3}}`, `"maxDispatchesPerSecond":3`},
		{"POST", rest + "/queues/r:pause", "{}", `"state":"PAUSED"`},
		{"POST", rest + "/queues/r:resume", "", `"state":"RUNNING"`},
		{"POST", rest + "/queues/r:purge", "{}", `"purgeTime":`},
		{"GET", rest + "/queues?pageSize=1&$alt=json;enum-encoding=int", "", `"nextPageToken":`},
		{"DELETE", rest + "/queues/r", "", `{}`},
		{"POST", rest + "/queues/q/tasks", task, `"view":"BASIC"`},
		{"GET", rest + "/queues/q/tasks/x?responseView=FULL&key=k", "", `"body":"aGVsbG8="`},
		{"GET", rest + "/queues/q/tasks?fields=*", "", `"tasks":[`},
		{"POST", rest + "/queues/q/tasks:batchDelete", `{"names": ["` + queueName + `/tasks/none"]}`, `"code":10`},
		{"POST", rest + "/queues/q/tasks/x:run", "{}", `"dispatchCount":1`},
		{"POST", rest + "/queues/q:testIamPermissions", `{"permissions": ["a"]}`, `"permissions":["a"]`},
		{"GET", rest, "", `"locationId":"l"`},
		{"GET", "/v2/projects/p/locations", "", `"locations":[`},
	} {
		status, body := b.ask(t, step.method, step.path, step.body)
		if squeezed := strings.ReplaceAll(body, " ", ""); status != http.StatusOK || !strings.Contains(squeezed, step.want) {
			t.Errorf("%s %s: %d %s, want %s", step.method, step.path, status, body, step.want)
		}
	}
	if r := b.target.next(t); r.Header.Get("Test-Body") != "hello" {
		t.Errorf("the target got %v", r.Header)
	}
}

func TestRESTErrorsAreGoogles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, c := range map[string]struct {
		method, path, body string
		http               int
		status             string
	}{
		"a queue that is not there":   {"GET", rest + "/queues/none", "", 404, "NOT_FOUND"},
		"a queue that is there":       {"POST", rest + "/queues", `{"name": "` + queueName + `"}`, 409, "ALREADY_EXISTS"},
		"a bad queue":                 {"POST", rest + "/queues", `{"name": "x"}`, 400, "INVALID_ARGUMENT"},
		"a task without a request":    {"POST", rest + "/queues/q/tasks", `{"task": {}}`, 400, "INVALID_ARGUMENT"},
		"half a JSON":                 {"POST", rest + "/queues/q/tasks", `{"task": {`, 400, "INVALID_ARGUMENT"},
		"not JSON":                    {"POST", rest + "/queues/q/tasks", `task`, 400, "INVALID_ARGUMENT"},
		"a list for an object":        {"POST", rest + "/queues/q/tasks", `[]`, 400, "INVALID_ARGUMENT"},
		"a field that is not":         {"POST", rest + "/queues/q/tasks", `{"tusk": {}}`, 400, "INVALID_ARGUMENT"},
		"a value of another type":     {"POST", rest + "/queues/q/tasks", `{"task": 3}`, 400, "INVALID_ARGUMENT"},
		"a bad timestamp":             {"POST", rest + "/queues/q/tasks", `{"task": {"scheduleTime": "soon"}}`, 400, "INVALID_ARGUMENT"},
		"bad base64":                  {"POST", rest + "/queues/q/tasks", `{"task": {"httpRequest": {"body": "!"}}}`, 400, "INVALID_ARGUMENT"},
		"a parameter that is not":     {"GET", rest + "/queues?foo=1", "", 400, "INVALID_ARGUMENT"},
		"a parameter of another type": {"GET", rest + "/queues?pageSize=x", "", 400, "INVALID_ARGUMENT"},
		"a path that is not":          {"GET", "/v2/nonsense", "", 404, "NOT_FOUND"},
		"a method that is not":        {"PUT", rest + "/queues", "", 405, "UNIMPLEMENTED"},
		"a filter not understood":     {"GET", rest + "/queues?filter=name:x", "", 400, "INVALID_ARGUMENT"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			status, body := b.ask(t, c.method, c.path, c.body)
			var got struct {
				Error struct {
					Code            int
					Status, Message string
				}
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%d %q: %v", status, body, err)
			}
			if status != c.http || got.Error.Code != c.http || got.Error.Status != c.status || got.Error.Message == "" {
				t.Errorf("%d %s, want %d %s", status, body, c.http, c.status)
			}
		})
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for header, values := range map[string]map[string]int{
		"Host": {
			"localhost": 200, "localhost:1234": 200, "tasks.localhost": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "[::1]": 200, "127.9.9.9": 200,
			"evil.example": 403, "localhost.evil.example": 403, "192.0.2.1": 403, "127.0.0.1.evil.example": 403, "169.254.169.254": 403,
		},
		"Origin": {
			"http://localhost:3000": 200, "http://127.0.0.1": 200,
			"https://evil.example": 403, "null": 403, "http://localhost.evil.example": 403, "file://": 403,
		},
	} {
		for value, want := range values {
			for _, path := range []string{rest + "/queues", "/faults"} {
				if got, body := b.ask(t, "GET", path, "", header, value); got != want {
					t.Errorf("%s: %s on %s: %d %s, want %d", header, value, path, got, body, want)
				}
			}
		}
	}
}

func TestFaultsAreChangedOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *cloudtasks.Options) { o.Faults = cloudtasks.Faults{Reorder: 0.5} })
	type answer struct {
		status int
		body   string
	}
	for _, step := range []struct {
		method, body string
		want         answer
	}{
		{"GET", "", answer{200, "reorder=0.5\n"}},
		{"PUT", "late=0.01:1s-3s\n", answer{200, "late=0.01:1s-3s\n"}},
		{"PUT", "late=x", answer{400, "fault \"late=x\": \"x\" is not a probability from 0 to 1\n"}},
		{"PUT", strings.Repeat("reorder=1,", 10000), answer{400, "read the faults: http: request body too large\n"}},
		{"POST", "", answer{405, "use GET, PUT or DELETE\n"}},
		{"GET", "", answer{200, "late=0.01:1s-3s\n"}},
		{"DELETE", "", answer{200, "\n"}},
	} {
		status, body := b.ask(t, step.method, "/faults", step.body)
		if diff := cmp.Diff(step.want, answer{status, body}, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%s %.20q (-want +got):\n%s", step.method, step.body, diff)
		}
	}
}
