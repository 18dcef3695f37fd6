package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"google.golang.org/protobuf/types/known/durationpb"
)

// generatedMain is what the buildpack's main comes to for a function that registers itself, but for the address.
const generatedMain = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	_ "github.com/seriatim/seriatim"
)

func main() {
	if err := funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
`

// binaries builds both staged functions once for all tests of this package.
var binaries struct {
	once  sync.Once
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binaries.dir != "" {
		_ = os.RemoveAll(binaries.dir)
	}
	os.Exit(code)
}

func build(t *testing.T, name string) string {
	t.Helper()
	binaries.once.Do(func() {
		dir, err := os.MkdirTemp("", "staged")
		if err != nil {
			t.Fatal(err)
		}
		binaries.dir, binaries.paths = dir, map[string]string{}
		for name := range entryPoints {
			staged := stage(t, name)
			app := filepath.Join(staged, "functions.local", "app")
			if err := os.MkdirAll(app, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(app, "main.go"), []byte(generatedMain), 0o644); err != nil {
				t.Fatal(err)
			}
			goCommand(t, staged, "build", "-o", filepath.Join(dir, name), "./functions.local/app")
			binaries.paths[name] = filepath.Join(dir, name)
		}
	})
	if binaries.paths[name] == "" {
		t.Fatalf("the staged build of %s has failed before", name)
	}
	return binaries.paths[name]
}

// deployment is both functions as separate processes of their staged builds, as they are in the cloud: a real Redis with AUTH and
// TLS, and the Cloud Tasks emulator with OIDC tokens that the executor checks.
type deployment struct {
	tasks    *cloudtasks.Server
	redis    *redistest.Server
	ports    map[string]string
	running  map[string]*process
	document string
	// endpoints is the Cloud Tasks address that each function is given.
	endpoints map[string]string
	// environment is given to both functions beside what all deployments have.
	environment []string
	// env is given to one function, and goes before all else.
	env map[string][]string
}

const queueName = "projects/p/locations/l/queues/q"

func deploy(t *testing.T, document string) *deployment {
	t.Helper()
	d := newDeployment(t, document)
	d.start(t, "ingest")
	d.start(t, "executor")
	return d
}

// newDeployment has everything but the functions running.
func newDeployment(t *testing.T, document string) *deployment {
	t.Helper()
	tasks, err := cloudtasks.Start(t.Context(), cloudtasks.Options{Issuer: "https://accounts.google.com", Queues: []*cloudtaskspb.Queue{{
		Name: queueName,
		RetryConfig: &cloudtaskspb.RetryConfig{
			MaxAttempts: -1, MinBackoff: durationpb.New(time.Second), MaxBackoff: durationpb.New(10 * time.Second), MaxDoublings: 4,
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tasks.Close)
	server := redistest.StartTLS(t, "--requirepass", "a-password")
	options := *server.Client().Options()
	options.Password = "a-password"
	rdb := redis.NewClient(&options)
	defer rdb.Close()
	if err := generation.Install(t.Context(), rdb, nil); err != nil { // else it begins with a quarantine
		t.Fatal(err)
	}
	return &deployment{
		tasks: tasks, redis: server, document: document, running: map[string]*process{},
		ports:     map[string]string{"ingest": freePort(t), "executor": freePort(t)},
		endpoints: map[string]string{"ingest": tasks.Addr(), "executor": tasks.Addr()},
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// process is one function's process.
type process struct {
	cmd    *exec.Cmd
	output *lockedBuffer
	exited chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (d *deployment) url(name string) string { return "http://127.0.0.1:" + d.ports[name] }

// start runs a function and waits until it accepts connections.
func (d *deployment) start(t *testing.T, name string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(build(t, name)), output: &lockedBuffer{}, exited: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(),
		"FUNCTION_TARGET="+entryPoints[name], "PORT="+d.ports[name], "SERIATIM_CONFIG="+d.document,
		"SERIATIM_REDIS_URL="+strings.Replace(d.redis.URL(), "//", "//:a-password@", 1), "SERIATIM_REDIS_CA="+d.redis.CA(),
		"SERIATIM_TASKS_SERVICE_ACCOUNT=tasks@p.iam.gserviceaccount.com",
		"SERIATIM_QUEUE="+queueName, "SERIATIM_EXECUTOR_URL="+d.url("executor"),
		"SERIATIM_ENVELOPE_KEY=0123456789abcdef0123456789abcdef", "SERIATIM_TASKS_ENDPOINT="+d.endpoints[name])
	p.cmd.Env = append(p.cmd.Env, d.environment...)
	p.cmd.Env = append(p.cmd.Env, d.env[name]...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", name, p.output)
		}
	})
	d.running[name] = p
	await(t, name+" accepts connections", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+d.ports[name])
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

// await polls until done, for as long as the test may take.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); !done(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (d *deployment) call(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.url("ingest")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: openapitest.Transport(t, http.DefaultTransport)}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (d *deployment) state(t *testing.T, key, id string) (s struct{ Status string }) {
	t.Helper()
	got := d.call(t, http.MethodGet, "/v1/lanes/"+key+"/requests/"+id, "")
	if err := json.Unmarshal([]byte(got.body), &s); err != nil {
		t.Fatalf("state of %s: %d %s: %v", id, got.status, got.body, err)
	}
	return s
}

func TestStagedFunctionsRunARequest(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(target.Close)
	d := deploy(t, fmt.Sprintf("targets: {echo: {url: %q}}\nlanes: [{match: '*', target: echo, spacing: 10ms}]\n", target.URL))

	// The lane is idle: ingest runs the request and passes the target's answer on.
	if got := d.call(t, http.MethodPost, "/v1/lanes/a%2Fb/requests", "hello"); got.status != http.StatusOK || got.body != "hello" {
		t.Errorf("immediate: %d %s, want 200 hello", got.status, got.body)
	}
	// Asked for async, it goes through the queue to the executor.
	got := d.call(t, http.MethodPost, "/v1/lanes/a%2Fb/requests", "again", "Prefer", "respond-async")
	if got.status != http.StatusAccepted {
		t.Fatalf("async: %d %s, want 202", got.status, got.body)
	}
	id := got.header.Get("Seriatim-Request-Id")
	await(t, "the queued request is done", func() bool { return d.state(t, "a%2Fb", id).Status == "done" })
	if got := d.call(t, http.MethodGet, "/v1/lanes/a%2Fb/requests/"+id+"/result", ""); got.body != "again" {
		t.Errorf("result: %d %s, want again", got.status, got.body)
	}
}

func TestSIGTERMEndsWhatRunsAndExits(t *testing.T) {
	t.Parallel()
	running := make(chan struct{}, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		running <- struct{}{}
		time.Sleep(5 * time.Second) // the 5 s run that the signal falls into
	}))
	t.Cleanup(target.Close)
	d := deploy(t, fmt.Sprintf("targets: {slow: {url: %q}}\nlanes: [{match: '*', target: slow, spacing: 0s}]\n", target.URL))
	for _, name := range []string{"executor", "ingest"} {
		prefer := "respond-async"
		if name == "ingest" {
			prefer = "none"
		}
		answered := make(chan answer, 1)
		go func() { answered <- d.call(t, http.MethodPost, "/v1/lanes/"+name+"/requests", "x", "Prefer", prefer) }()
		<-running
		p := d.running[name]
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		// Cloud Run kills after 10 s: then the exit status says so, and the request would not be done.
		kill := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
		if err := <-p.exited; err != nil {
			t.Errorf("%s: %v, want exit status 0 within 10 s", name, err)
		}
		kill.Stop()
		got := <-answered
		id := got.header.Get("Seriatim-Request-Id")
		d.start(t, name)
		if got := d.state(t, name, id); got.Status != "done" {
			t.Errorf("%s: the request is %q after the exit, want done", name, got.Status)
		}
	}
	if len(running) != 0 {
		t.Errorf("%d runs more than requests", len(running))
	}
}
