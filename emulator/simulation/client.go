package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/policy"
)

// response is what a handler answers.
type response struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header, WriteHeader and Write are http.ResponseWriter's.
func (r *response) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write keeps the body.
func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func post(ctx context.Context, path string, header http.Header, body []byte) *http.Request {
	return request(ctx, http.MethodPost, path, header, body)
}

func request(ctx context.Context, method, path string, header http.Header, body []byte) *http.Request {
	r := &http.Request{
		Method: method, URL: &url.URL{Path: path}, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Host: "seriatim.example",
	}
	return r.WithContext(ctx)
}

// document is the configuration of the scenario.
func (w *World) document() *policy.Document {
	respond, exhausted, ambiguous := policy.Immediate, policy.DeadLetter, policy.Retry
	if w.Hold {
		ambiguous = policy.Hold
	}
	if w.Park {
		exhausted = policy.Park
	}
	if w.Async {
		respond = policy.Async
	}
	return &policy.Document{
		Targets: map[string]*policy.Target{"work": {Name: "work", URL: "https://work.example/", Timeout: max(time.Minute, min(10*w.Mean, 25*time.Minute)), Immediate: true}},
		Lanes: []*policy.Lane{{
			Match: "*", Name: "lane", Target: "work", Targets: []string{"work"}, Spacing: w.Spacing, Burst: w.Burst,
			Concurrency: w.Concurrency, Respond: respond, Lease: w.Lease, Attempts: w.Attempts, MaxAge: 240 * time.Hour,
			Backoff: policy.Backoff{Min: w.BackoffMin, Max: w.BackoffMax}, Exhausted: exhausted, Ambiguous: ambiguous,
			MaxDepth: 1_000_000, Retention: 720 * time.Hour, Durable: w.Durable, Decide: w.decide(),
		}},
	}
}

func (w *World) decide() policy.Decide {
	if w.Decide {
		return policy.Firestore
	}
	return policy.Redis
}

// client is one submission and what its sender does until it is sure, or gives up.
type client struct {
	world *World
	index int
	name  string
	lane  string
	keyed bool

	mu sync.Mutex
	id string // of its request, once it has been told
}

// learn keeps the id that an answer tells.
func (c *client) learn(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

func (c *client) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// patience is how long a client waits for an answer, persistence how often it sends a request with a key again.
const (
	patience    = 2 * time.Minute
	persistence = 10
)

// submitAll starts every client of the plan.
func (w *World) submitAll() {
	at := time.Duration(0)
	for i := range w.Requests {
		c := &client{world: w, index: i, name: fmt.Sprintf("c%d", i)}
		r := w.dice.roll("client", c.name)
		at += r.span(w.Gap.Low, w.Gap.High) + time.Duration(r.intn(1000))
		c.lane, c.keyed = fmt.Sprintf("L%d", r.intn(max(1, w.Lanes))), r.float() < w.Keyed
		if w.Load != nil {
			at, c.lane = w.Load[i].At, w.Load[i].Lane
		}
		if w.plan != nil && !w.plan[i] {
			continue
		}
		wait := at
		w.clients.Go(func() {
			time.Sleep(wait)
			c.submit()
		})
	}
}

func (c *client) submit() {
	w := c.world
	r := w.dice.roll("patience", c.name)
	for try := range persistence {
		if try > 0 {
			time.Sleep(r.span(100*time.Millisecond, time.Duration(min(try, 5))*4*time.Second))
		}
		if w.oracle.broken() {
			return
		}
		about := fmt.Sprint(c.name, " try ", try)
		if c.keyed && w.strike("sent twice", about, w.faults().ClientTwice) {
			pause := r.span(0, 50*time.Millisecond)
			w.clients.Go(func() {
				time.Sleep(pause)
				c.send(about + " again")
			})
		}
		if c.send(about) || !c.keyed {
			break
		}
	}
	c.lookAfter(&r)
	if c.keyed && w.strike("sent later", c.name, w.faults().ClientTwice) {
		time.Sleep(r.span(time.Second, 5*time.Minute))
		c.send(c.name + " later")
	}
}

// lookAfter asks for the state and the result of the request.
func (c *client) lookAfter(r *roll) {
	w := c.world
	id := c.told()
	if r.float() >= w.Patient || id == "" {
		return
	}
	for range 3 {
		path, header := "/v1/lanes/"+c.lane+"/requests/"+id, http.Header{"Prefer": {"wait=" + number(int64(r.intn(40)))}}
		if r.intn(3) == 0 {
			path, header = path+"/result", http.Header{}
		}
		time.Sleep(r.span(time.Millisecond, 20*time.Second))
		asked, in, out, over := time.Now(), w.pick(&w.ingests, path), &response{header: http.Header{}}, make(chan struct{})
		w.clients.Go(func() {
			defer close(over)
			in.enter("look " + c.name)
			in.trouble("look " + path)
			in.ingest.ServeHTTP(out, request(w.ctx, http.MethodGet, path, header, nil))
			w.oracle.shown(in, c.lane, id, asked, out)
		})
		<-over
	}
}

// send makes one call and says whether the client knows now that its request is in good hands.
func (c *client) send(about string) bool {
	w := c.world
	w.steps.Add(1)
	r := w.dice.roll("client call", about)
	time.Sleep(r.span(time.Millisecond, 10*time.Millisecond))
	in := w.pick(&w.ingests, about)
	header := http.Header{"Content-Type": {"text/plain"}}
	if c.keyed {
		header.Set("Idempotency-Key", `"`+c.name+`"`)
	}
	if r.float() < w.Patient {
		header.Set("Prefer", []string{"wait=5", "wait=60", "respond-async, wait=20"}[r.intn(3)])
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	out, done := &response{header: http.Header{}}, make(chan bool, 1)
	w.clients.Go(func() {
		whole := false
		defer func() { done <- whole }()
		in.enter("submit " + about)
		in.trouble("submit " + about)
		in.ingest.ServeHTTP(out, post(ctx, "/v1/lanes/"+c.lane+"/requests", header, []byte(c.name)))
		in.trouble("answer " + about)
		w.oracle.answered(in, c, out)
		whole = true
	})
	wait := time.NewTimer(patience + r.span(0, time.Second))
	defer wait.Stop()
	select {
	case whole := <-done:
		time.Sleep(r.span(time.Millisecond, 10*time.Millisecond))
		if !whole || w.strike("client answer lost", about, w.faults().ClientLost) {
			return false
		}
		w.Watch(c.index, Answered, time.Since(w.start))
		return out.status < 429
	case <-wait.C:
		return false
	}
}
