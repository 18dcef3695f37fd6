package functions_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
)

// ledger is a target that answers with the payload it got, refuses "bad" until it is mended, and notes what it was sent and whether
// two calls of one key were ever there at once.
type ledger struct {
	mu       sync.Mutex
	seen     []string
	running  map[string]int
	overlaps int
	mended   bool
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Seriatim-Key")
	l.mu.Lock()
	l.seen = append(l.seen, string(body))
	l.running[key]++
	if l.running[key] > 1 {
		l.overlaps++
	}
	refused := string(body) == "bad" && !l.mended
	l.mu.Unlock()
	if refused {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_, _ = w.Write(body)
	l.mu.Lock()
	l.running[key]--
	l.mu.Unlock()
}

func (l *ledger) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

func (l *ledger) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mended = true
}

// TestTheStagedFunctionsEndToEnd has both functions as the buildpack builds them, in processes of their own, with a Redis that asks
// for a password and speaks TLS, tokens on every delivery, and Firestore.
func TestTheStagedFunctionsEndToEnd(t *testing.T) {
	t.Parallel()
	work := &ledger{running: map[string]int{}}
	target := httptest.NewServer(work)
	t.Cleanup(target.Close)
	d := newDeployment(t, fmt.Sprintf("targets: {work: {url: %q}}\nlanes: [{match: '*', target: work, spacing: 5ms}]\n", target.URL))
	d.environment = []string{"SERIATIM_FIRESTORE=projects/staged-project/databases/seriatim-records", "FIRESTORE_EMULATOR_HOST=" + firestoretest.Start(t).Addr()}

	// A cold start: the network is not there yet. Nothing crashes, and clients are told to come again.
	d.redis.Kill()
	d.start(t, "ingest")
	d.start(t, "executor")
	if got := d.call(t, http.MethodGet, "/v1/health", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"starting"`) {
		t.Errorf("health without Redis: %d %s, want 503 starting", got.status, got.body)
	}
	if got := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "early"); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("a request without Redis: %d %s, want 503 with Retry-After", got.status, got.body)
	}
	d.redis.Restart()
	await(t, "health is ok", func() bool { return d.call(t, http.MethodGet, "/v1/health", "").status == http.StatusOK })

	// Many on one lane: all run, once, in order, one at a time.
	var want []string
	for i := range 20 {
		body := strconv.Itoa(i)
		want = append(want, body)
		if got := d.call(t, http.MethodPost, "/v1/lanes/k/requests", body, "Prefer", "respond-async", "Idempotency-Key", body); got.status != http.StatusAccepted {
			t.Fatalf("request %d: %d %s, want 202", i, got.status, got.body)
		}
	}
	last := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "19", "Prefer", "wait=60", "Idempotency-Key", "19")
	if last.status != http.StatusOK || last.body != "19" {
		t.Errorf("the last one, waited for: %d %s, want 200 19", last.status, last.body)
	}
	if diff := cmp.Diff(want, work.calls()); diff != "" || work.overlaps != 0 {
		t.Errorf("%d overlaps; calls of the target (-want +got):\n%s", work.overlaps, diff)
	}

	// What fails for good is a dead letter, and runs again once the target is mended.
	if got := d.call(t, http.MethodPost, "/v1/lanes/d/requests", "bad", "Idempotency-Key", "d"); got.header.Get("Seriatim-Status") != "dead" {
		t.Fatalf("a refused request: %d %s %s, want dead", got.status, got.header.Get("Seriatim-Status"), got.body)
	}
	var list struct {
		DeadLetters []struct{ ID string } `json:"dead_letters"`
	}
	await(t, "one dead letter is listed", func() bool { // 503 while Firestore's emulator is slow with its first query
		got := d.call(t, http.MethodGet, "/v1/lanes/d/dead-letters", "")
		return got.status == http.StatusOK && json.Unmarshal([]byte(got.body), &list) == nil && len(list.DeadLetters) == 1
	})
	work.mend()
	id := list.DeadLetters[0].ID
	if got := d.call(t, http.MethodPost, "/v1/lanes/d/dead-letters/"+id+"/redrive", ""); got.status != http.StatusAccepted {
		t.Fatalf("redrive: %d %s, want 202", got.status, got.body)
	}
	await(t, "the dead letter is done", func() bool { return d.state(t, "d", id).Status == "done" })

	// Redis is lost: what ended is replayed, byte for byte, and does not run again.
	before := len(work.calls())
	d.redis.Restart()
	await(t, "health is ok again", func() bool { return d.call(t, http.MethodGet, "/v1/health", "").status == http.StatusOK })
	again := d.call(t, http.MethodPost, "/v1/lanes/k/requests", "7", "Idempotency-Key", "7")
	if again.status != http.StatusOK || again.body != "7" || again.header.Get("Idempotent-Replayed") != "true" || len(work.calls()) != before {
		t.Errorf("after the loss of Redis: %d %s %v, %d more calls; want the stored answer", again.status, again.body, again.header, len(work.calls())-before)
	}

	// Nobody but Cloud Tasks gets in.
	resp, err := http.Post(d.url("executor"), "application/octet-stream", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a delivery without a token: %d, want 403", resp.StatusCode)
	}
}
