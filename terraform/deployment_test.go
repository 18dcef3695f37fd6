package terraform_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/functions/executor"
	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/bundle"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

// secretValues stand for what Secret Manager holds.
var secretValues = map[string]string{
	"SERIATIM_REDIS_URL": "rediss://:an-auth-string@10.9.0.4:6378", "SERIATIM_CACHE_REDIS_URL": "rediss://:another@10.9.0.12:6378",
	"SERIATIM_ENVELOPE_KEY": "0123456789abcdef0123456789abcdef",
	"SLOW_SECRET":           "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}

// environmentOf is what Cloud Run gives an instance of a function: what Terraform sets, the values of secrets, and its own.
func environmentOf(t *testing.T, s state, name string) map[string]string {
	t.Helper()
	address := "google_cloudfunctions2_function." + name
	env := map[string]string{"K_SERVICE": s.get(t, address, "name").(string)}
	for key, value := range s.get(t, address, "service_config", 0, "environment_variables").(map[string]any) {
		env[key] = value.(string)
	}
	for _, secret := range s.get(t, address, "service_config", 0, "secret_environment_variables").([]any) {
		key := secret.(map[string]any)["key"].(string)
		if secretValues[key] == "" {
			t.Fatalf("%s gets the secret %s, whose value this test does not know", name, key)
		}
		env[key] = secretValues[key]
	}
	return env
}

// certificate is some certificate in PEM: the mocked Redis has none.
func certificate(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// deployment runs both functions in the environment that Terraform gives them, but for the addresses of what they call: a Redis
// with password and TLS, the Cloud Tasks emulator with tokens like Google's, a target.
type deployment struct {
	t     *testing.T
	state state
	redis *redistest.Server
	// firestore stands in for the database.
	firestore *firestoretest.Server
	tasks     *cloudtasks.Server
	queue     string
	parts     map[string]*bundle.Parts
	servers   map[string]*httptest.Server
	calls     map[string]*calls
	logs      map[string]*buffer
}

const document = `
targets: {work: {url: %q, retry: [503]}}
lanes:
  - {match: 'k-*', target: work, spacing: 0s, backoff: {min: 10ms, max: 10ms}}
  - {match: 'parks-*', target: work, spacing: 0s, exhausted: park}
  - {match: 'swept-*', target: work, spacing: 0s, lease: 5s}
`

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{
		t: t, state: deployed(t), redis: redistest.StartTLS(t, "--requirepass", "an-auth-string"), firestore: firestoretest.Start(t), parts: map[string]*bundle.Parts{},
		servers: map[string]*httptest.Server{}, calls: map[string]*calls{}, logs: map[string]*buffer{},
	}
	d.queue = environmentOf(t, d.state, "ingest")["SERIATIM_QUEUE"]
	var err error
	if d.tasks, err = cloudtasks.Start(t.Context(), cloudtasks.Options{
		Issuer: "https://accounts.google.com", Queues: []*cloudtaskspb.Queue{{Name: d.queue}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.tasks.Close)
	tries := &tries{}
	work := httptest.NewServer(tries)
	t.Cleanup(work.Close)
	for _, name := range []string{"executor", "ingest"} {
		d.start(name, fmt.Sprintf(document, work.URL))
	}
	return d
}

func (d *deployment) start(name, document string) {
	d.t.Helper()
	var handler http.Handler
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	d.servers[name], d.calls[name], d.logs[name] = server, &calls{}, &buffer{}
	env := environmentOf(d.t, d.state, name)
	maps.Copy(env, map[string]string{
		"FIRESTORE_EMULATOR_HOST": d.record(d.calls[name], d.firestore.Addr()), "SERIATIM_CONFIG": document, "SERIATIM_TASKS_ENDPOINT": d.record(d.calls[name], d.tasks.Addr()), "SERIATIM_REDIS_CA": d.redis.CA(),
		"SERIATIM_REDIS_URL": strings.Replace(d.redis.URL(), "//", "//:an-auth-string@", 1), "SERIATIM_CACHE_REDIS_URL": "",
		"SERIATIM_EXECUTOR_URL": "http://" + d.servers["executor"].Listener.Addr().String(),
	})
	config, err := bundle.FromEnv(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	if err != nil {
		d.t.Fatal(err)
	}
	parts, err := bundle.Open(d.t.Context(), config, &target.Set{})
	if err != nil {
		d.t.Fatal(err)
	}
	handler = executor.Guard(config.Callers, parts.Clock, executor.Wire(parts, nil))
	if name == "ingest" {
		handler = ingest.Wire(parts)
	}
	d.parts[name] = parts
	log := logging.New(d.logs[name], config.Project)
	inner := handler
	handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(logging.WithContext(r.Context(), log)))
	})
	server.Start()
	d.t.Cleanup(func() {
		server.Close()
		_ = parts.Close()
	})
}

// tries is a target that fails a request of the key k-retry once, and those of k-dead and parks-dead for good.
type tries struct {
	mu   sync.Mutex
	seen map[string]int
}

func (s *tries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	key := r.Header.Get("Seriatim-Key")
	s.seen[key]++
	switch {
	case key == "k-retry" && s.seen[key] == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	case key == "k-dead" || key == "parks-dead":
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
}

// buffer takes log lines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// post sends a body to a function and returns the status.
func (d *deployment) post(name, path, body string, header ...string) int {
	d.t.Helper()
	return d.send(d.t.Context(), http.MethodPost, name, path, body, header...)
}

func (d *deployment) send(ctx context.Context, method, name, path, body string, header ...string) int {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, d.servers[name].URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
