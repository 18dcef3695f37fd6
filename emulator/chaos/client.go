package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// clientTimeout is when a client gives an answer up as lost.
const clientTimeout = 20 * time.Second

// request is what one client wants done, and what it was told. Its fields below mu are written by the goroutines that speak for it.
type request struct {
	serial int
	lane   lane
	key    string // its idempotency key; "" for none
	body   string
	cancel bool // the operator may cancel it
	prefer string

	mu       sync.Mutex
	first    time.Time // before it was first sent
	sent     []time.Time
	acked    time.Time // when an answer first said that it is taken; zero before
	id       string
	refused  bool     // without a key, and told that nothing was taken
	answers  []string // the bodies of all answers that said done
	status   string   // at the end
	started  string   // the first grant, as its record tells
	attempts int
	canceled time.Time // when the cancel was answered 200
	problems []string
}

// answer is what a client got.
type answer struct {
	code         int
	status, id   string
	problem      string
	replayed     bool
	body         string
	sent, gotten time.Time
}

// taken says that the answer is about a request that is accepted.
func (a answer) taken() bool {
	return slices.Contains([]string{"done", "queued", "running", "dead", "cancelled", "unknown"}, a.status)
}

// clients are all of them. They are safe for concurrent use.
type clients struct {
	url    string
	dice   *dice
	target *target
	http   *http.Client

	mu       sync.Mutex
	requests []*request
	byID     map[string]*request
	going    sync.WaitGroup
}

func newClients(url string, d *dice, t *target) *clients {
	return &clients{
		url: url, dice: d, target: t, byID: map[string]*request{},
		http: &http.Client{Timeout: clientTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

func (c *clients) list() []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// make draws a request.
func (c *clients) make(l lane) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &request{serial: len(c.requests) + 1, lane: l}
	r.body = fmt.Sprintf("%d %s", r.serial, l.key)
	if c.dice.chance(0.7) {
		r.key = fmt.Sprintf("key-%d", r.serial)
	}
	switch {
	case c.dice.chance(0.3):
		r.prefer = "respond-async"
	case c.dice.chance(0.2):
		r.prefer = fmt.Sprintf("wait=%d", 1+c.dice.intN(10))
	}
	r.cancel = c.dice.chance(0.03)
	if !r.cancel && c.dice.chance(0.02) {
		c.target.doom(r.serial)
	}
	c.requests = append(c.requests, r)
	return r
}

func (t *target) doom(serial int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doomed[serial] = true
}

// submit sends a request until somebody says how it stands, as its client would: with a key again and again, without one once.
func (c *clients) submit(ctx context.Context, r *request) {
	if r.key != "" && !r.cancel && c.dice.chance(0.05) {
		c.going.Go(func() { c.repeat(ctx, r, 1) }) // a duplicate beside it
	}
	c.repeat(ctx, r, 1000)
	if r.key != "" && !r.cancel && c.dice.chance(0.1) {
		pause(ctx, c.dice.between(0, 5*time.Second))
		c.repeat(ctx, r, 1)
	}
}

// repeat sends it at most so often, until an answer says that it is taken.
func (c *clients) repeat(ctx context.Context, r *request, times int) {
	for wait := 50 * time.Millisecond; times > 0 && ctx.Err() == nil; times-- {
		a, err := c.send(ctx, r)
		if err == nil && c.told(r, a) || r.key == "" {
			return
		}
		pause(ctx, c.dice.between(wait/2, wait))
		wait = min(2*wait, time.Second)
	}
}

func (c *clients) send(ctx context.Context, r *request) (answer, error) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, c.url+"/v1/lanes/"+r.lane.key+"/requests", strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "text/plain")
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.prefer != "" {
		req.Header.Set("Prefer", r.prefer)
	}
	r.mu.Lock()
	if r.first.IsZero() {
		r.first = time.Now()
	}
	r.sent = append(r.sent, time.Now())
	r.mu.Unlock()
	return c.do(req)
}

func (c *clients) do(req *http.Request) (answer, error) {
	a := answer{sent: time.Now()}
	resp, err := c.http.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.gotten, a.code, a.body = time.Now(), resp.StatusCode, string(body)
	a.status, a.id = resp.Header.Get("Seriatim-Status"), resp.Header.Get("Seriatim-Request-Id")
	a.replayed = resp.Header.Get("Idempotent-Replayed") == "true"
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
		a.problem = problemOf(a.body)
	}
	return a, nil
}

// certain are the problems by which ingest says that nothing was taken.
var certain = []string{"lane-full", "unavailable", "starting"}

// told notes what an answer says, and whether it says that the request is taken.
func (c *clients) told(r *request, a answer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !a.taken() {
		r.refused = r.key == "" && slices.Contains(certain, a.problem)
		return false
	}
	if r.acked.IsZero() || a.gotten.Before(r.acked) {
		r.acked = a.gotten
	}
	switch {
	case r.id == "":
		r.id = a.id
		c.know(r)
	case r.id != a.id:
		r.problems = append(r.problems, fmt.Sprintf("two ids, %s and %s", r.id, a.id))
	}
	if a.status == "done" {
		r.answers = append(r.answers, a.body)
	}
	return true
}

func (c *clients) know(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[r.id] = r
}

// call is a request of the API beside submissions. An answer without Seriatim's own signs, as a balancer gives it, is an error.
func (c *clients) call(ctx context.Context, method, path string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, nil)
	if err != nil {
		return answer{}, err
	}
	a, err := c.do(req)
	if err == nil && a.code == http.StatusServiceUnavailable {
		err = errors.New(strings.TrimSpace(a.body))
	}
	return a, err
}

// arrive submits to one lane until load ends: at random, now and then many at once, and never more than the lane can do. Clients that
// have no answer yet go on until ctx ends.
func (c *clients) arrive(ctx, load context.Context, l lane, every time.Duration) {
	const most = 30 // outstanding
	var mu sync.Mutex
	outstanding := 0
	for load.Err() == nil {
		n := 1
		if c.dice.chance(0.03) {
			n = 10
		}
		for range n {
			mu.Lock()
			full := outstanding >= most
			if !full {
				outstanding++
			}
			mu.Unlock()
			if full {
				break
			}
			r := c.make(l)
			c.going.Go(func() {
				c.submit(ctx, r)
				c.awaits(load, r)
				mu.Lock()
				outstanding--
				mu.Unlock()
			})
		}
		pause(load, c.dice.about(every))
	}
}

// awaits returns when the target has done the request, or nobody knows whether it ever will.
func (c *clients) awaits(ctx context.Context, r *request) {
	r.mu.Lock()
	acked := !r.acked.IsZero()
	r.mu.Unlock()
	for give := time.Now().Add(time.Minute); acked && ctx.Err() == nil && time.Now().Before(give); pause(ctx, 200*time.Millisecond) {
		for _, call := range c.target.of(r.serial) {
			if call.outcome == done || call.outcome == refused {
				return
			}
		}
	}
}
