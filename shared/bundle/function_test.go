package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

func environment(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"SERIATIM_CONFIG":       "targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: '*', target: work, spacing: 0s}]\n",
		"SERIATIM_REDIS_URL":    "redis://" + redistest.Miniredis(t).Addr(),
		"SERIATIM_QUEUE":        "projects/p/locations/l/queues/q",
		"SERIATIM_EXECUTOR_URL": "http://127.0.0.1:1/", "SERIATIM_ENVELOPE_KEY": "0123456789abcdef0123456789abcdef",
		"SERIATIM_TASKS_ENDPOINT": "127.0.0.1:1", "SERIATIM_AUTH": "off",
	}
}

func function(env map[string]string) *Function {
	return &Function{
		Lookup: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		Assemble: func(p *Parts) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(p.Config.Project))
			})
		},
	}
}

func get(t *testing.T, f *Function) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w
}

// wantProblem checks that w is the answer that package problem gives, and that it tells no secret of the environment.
func wantProblem(t *testing.T, when string, w *httptest.ResponseRecorder, status int, name problem.Name) {
	t.Helper()
	var body struct {
		Type   string
		Status int
		Detail string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v in %q", when, err, w.Body)
	}
	got := []any{w.Code, body.Status, body.Type, w.Header().Get("Content-Type"), w.Header().Get("Seriatim-Status")}
	if diff := cmp.Diff([]any{status, status, name.URI(), "application/problem+json", "error"}, got); diff != "" || body.Detail == "" {
		t.Errorf("%s: detail %q, answer (-want +got):\n%s", when, body.Detail, diff)
	}
	if strings.Contains(w.Body.String(), "redis://") || strings.Contains(w.Body.String(), "0123456789abcdef") {
		t.Errorf("%s: the answer tells of the environment: %s", when, w.Body)
	}
}

func TestWhatHasNoRequestIsLoggedInTheSameForm(t *testing.T) {
	t.Parallel()
	get(t, function(environment(t)))
	if _, json := slog.Default().Handler().(*slog.JSONHandler); !json {
		t.Errorf("the default logger has a %T: Cloud Logging takes no message and no field out of its lines", slog.Default().Handler())
	}
}

func TestFunction(t *testing.T) {
	t.Parallel()
	t.Run("is made from its environment with the first request", func(t *testing.T) {
		t.Parallel()
		f := function(environment(t))
		for range 2 {
			if w := get(t, f); w.Code != http.StatusOK || w.Body.String() != "p" {
				t.Errorf("%d %q, want 200 and the project", w.Code, w.Body)
			}
		}
	})
	t.Run("answers 500 as long as its environment is at fault, each variable by itself", func(t *testing.T) {
		t.Parallel()
		good := environment(t)
		for name := range good {
			if name == "SERIATIM_AUTH" || name == "SERIATIM_TASKS_ENDPOINT" {
				continue // without them it is a function in the cloud, for which others are missing
			}
			bad := maps.Clone(good)
			delete(bad, name)
			wantProblem(t, "without "+name, get(t, function(bad)), http.StatusInternalServerError, problem.Internal)
			if _, err := FromEnv(function(bad).Lookup); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("without %s the error is %v, want it named", name, err)
			}
		}
	})
	t.Run("tries again when its parts cannot be made yet", func(t *testing.T) {
		t.Parallel()
		f := function(environment(t))
		f.open = func(context.Context, Config, *target.Set) (*Parts, error) {
			return nil, errors.New("no credentials before the network is there")
		}
		w := get(t, f)
		wantProblem(t, "first", w, http.StatusServiceUnavailable, problem.Starting)
		if after := w.Header().Get("Retry-After"); after != "5" {
			t.Errorf("first: Retry-After %q, want 5", after)
		}
		f.open = nil
		if w := get(t, f); w.Code != http.StatusOK {
			t.Errorf("then: %d, want 200", w.Code)
		}
	})
}
