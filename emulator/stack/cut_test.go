package stack_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

// wire lies between the functions and Firestore. While it is cut nobody gets through, and the store keeps what it has.
type wire struct {
	net.Listener
	to  string
	cut atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to}
	t.Cleanup(func() {
		l.Close()
		w.away()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(conn)
		}
	}()
	return w
}

func (w *wire) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()
	w.mu.Lock()
	w.conns = append(w.conns, from, to)
	cut := w.cut.Load()
	w.mu.Unlock()
	if cut {
		return
	}
	go func() {
		defer from.Close()
		_, _ = io.Copy(from, to)
	}()
	_, _ = io.Copy(to, from)
}

// away cuts all connections, and lets none through until cut is false again.
func (w *wire) away() {
	w.cut.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

// outage is the whole on a real Redis and Google's Firestore emulator, which can be cut off.
type outage struct {
	*stack.Stack
	t       *testing.T
	wire    *wire
	records *record.Firestore // by a way of its own
	runs    atomic.Int64
}

func newOutage(t *testing.T) *outage {
	t.Helper()
	firestore := firestoretest.Start(t)
	o := &outage{t: t, wire: newWire(t, firestore.Addr())}
	conn := firestoreconn.New(firestoreconn.Config{Project: "seriatim-local", Database: "(default)", Emulator: firestore.Addr()})
	t.Cleanup(func() { _ = conn.Close() })
	o.records = record.NewFirestore(conn, record.Options{})
	await(t, "Firestore answers", func() bool { // its first answer takes long on a busy machine
		_, _, err := o.records.Get(t.Context(), "ready", "ready")
		return err == nil
	})
	work := &target.Set{}
	work.Register("work", func(_ context.Context, r target.Request) (target.Response, error) {
		return target.Response{Body: fmt.Appendf(nil, "%s, run %d", r.Body, o.runs.Add(1))}, nil
	})
	var err error
	o.Stack, err = stack.Start(t.Context(), stack.Options{
		Redis: redistest.Start(t).URL(), Firestore: o.wire.Addr().String(), Functions: work,
		Config: func(string) string {
			return "targets: {work: {url: 'http://127.0.0.1:1/'}}\nlanes: [{match: '*', target: work, spacing: 0s}]\n"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// submit sends a request whose body is its idempotency key.
func (o *outage) submit(key, body, prefer string) (status int, word, id, text string) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.URL+"/v1/lanes/"+key+"/requests", strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Prefer", prefer)
	r.Header.Set("Idempotency-Key", body)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Seriatim-Status"), resp.Header.Get("Seriatim-Request-Id"), string(answer)
}

// ended says whether a request is told to be done.
func (o *outage) ended(key, id string) bool {
	o.t.Helper()
	resp, err := http.Get(o.URL + "/v1/lanes/" + key + "/requests/" + id)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.Contains(string(text), `"status":"done"`)
}

// stored says whether Firestore has the record of a request, whoever is cut off.
func (o *outage) stored(key, id string) bool {
	o.t.Helper()
	_, found, err := o.records.Get(o.t.Context(), key, id)
	if err != nil {
		o.t.Fatal(err)
	}
	return found
}

// tasks are those that the queue holds.
func (o *outage) tasks() int64 {
	s := o.Tasks.Stats()
	return s.Waiting + s.InFlight
}

func TestWithoutFirestoreWorkGoesOnAndRecordsFollow(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	if status, word, _, _ := o.submit("before", "x", "none"); status != http.StatusOK || word != "done" {
		t.Fatalf("before: %d %s, want 200 done", status, word)
	}
	o.wire.away()

	// What is submitted runs, at once and from its task, and its end is told.
	const requests = 10
	ids := map[string]string{} // by key
	var clients sync.WaitGroup
	var mu sync.Mutex
	for i := range requests {
		key, prefer, want := fmt.Sprintf("lane-%d", i), "none", http.StatusOK
		if i%2 == 1 {
			prefer, want = "respond-async", http.StatusAccepted
		}
		clients.Go(func() {
			status, _, id, text := o.submit(key, "x", prefer)
			if status != want {
				t.Errorf("%s, %s: %d %s, want %d", key, prefer, status, text, want)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[key] = id
		})
	}
	clients.Wait()
	await(t, "all have run", func() bool { return o.runs.Load() == 1+requests })
	await(t, "all have ended", func() bool {
		for key, id := range ids {
			if !o.ended(key, id) {
				return false
			}
		}
		return true
	})
	// Nothing is answered too early: what Firestore does not have is a task.
	for key, id := range ids {
		if o.stored(key, id) {
			t.Errorf("%s is stored although nobody gets through", key)
		}
	}
	if n := o.tasks(); n < requests {
		t.Errorf("%d tasks hold %d records", n, requests)
	}

	// Where the queue takes no record either the client is not told, and asks again.
	refuse, err := cloudtasks.ParseFaults("error=1:PERMISSION_DENIED@CreateTask")
	if err != nil {
		t.Fatal(err)
	}
	o.Tasks.SetFaults(refuse)
	status, word, id, text := o.submit("untold", "x", "none")
	if status != http.StatusServiceUnavailable || word != "error" || !strings.Contains(text, "outcome-unknown") {
		t.Errorf("neither Firestore nor queue: %d %s %s, want 503 outcome-unknown", status, word, text)
	}
	o.Tasks.SetFaults(cloudtasks.Faults{})
	if id != "" {
		ids["untold"] = id
	}
	ran := o.runs.Load()

	// Firestore is back: the records follow by themselves, and nothing runs again.
	o.wire.cut.Store(false)
	await(t, "all records are stored", func() bool {
		for i := range requests {
			if key := fmt.Sprintf("lane-%d", i); !o.stored(key, ids[key]) {
				return false
			}
		}
		return true
	})
	if status, word, _, text := o.submit("untold", "x", "none"); status != http.StatusOK || word != "done" || !strings.HasPrefix(text, "x, run") {
		t.Errorf("asked again: %d %s %s, want 200 done", status, word, text)
	}
	await(t, "no task is left", func() bool { return o.tasks() == 0 })
	if n := o.runs.Load(); n != ran {
		t.Errorf("%d runs more than before Firestore was back", n-ran)
	}
}
