package chaos

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is how a call of the target ended.
type outcome string

const (
	running outcome = "running" // not at all yet
	done    outcome = "done"    // the effect, and a 200
	failed  outcome = "failed"  // 5xx without effect: worth another attempt
	refused outcome = "refused" // 422: final
	broken  outcome = "broken"  // the effect, and a connection cut before the answer
	gone    outcome = "gone"    // the caller had left before the effect
)

// call is one call of the target.
type call struct {
	lane, id, life         string // life is the process that called
	serial                 int    // of the client's request
	ticket, fence, attempt int64
	start, end             time.Time
	outcome                outcome
	answer                 string
}

// target does the work, and remembers every call. It is safe for concurrent use.
type target struct {
	dice *dice

	mu      sync.Mutex
	calls   []*call
	serials map[int][]*call
	calm    bool // no more failures
	doomed  map[int]bool
	onFinal func(c *call)
}

func newTarget(d *dice) *target {
	return &target{dice: d, serials: map[int][]*call{}, doomed: map[int]bool{}}
}

// heal ends failures: what is sent again succeeds.
func (t *target) heal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm = true
}

// setFinal has f told of every call that was refused for good. f must not wait; when setFinal returns the one before is not called any more.
func (t *target) setFinal(f func(*call)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onFinal = f
}

// of are the calls that a client's request has led to.
func (t *target) of(serial int) []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]call, 0, 1)
	for _, c := range t.serials[serial] {
		list = append(list, *c)
	}
	return list
}

func (t *target) all() []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]call, len(t.calls))
	for i, c := range t.calls {
		list[i] = *c
	}
	return list
}

// plan is what a call is going to do.
type plan struct {
	outcome outcome
	takes   time.Duration
	size    int
}

func (t *target) plan(serial int) plan {
	p := plan{outcome: done, takes: t.dice.about(20 * time.Millisecond), size: t.dice.intN(300)}
	switch {
	case t.dice.chance(0.003):
		p.takes = t.dice.between(shortLease, shortLease+3*time.Second) // renewed
	case t.dice.chance(0.03):
		p.takes = t.dice.between(300*time.Millisecond, 2*time.Second)
	}
	if t.dice.chance(0.02) {
		p.size = 20 << 10 // longer than Redis keeps of a durable record
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.calm:
	case t.doomed[serial]:
		p.outcome = refused
		delete(t.doomed, serial) // once: it may be redriven
	case t.dice.chance(0.04):
		p.outcome = failed
	case t.dice.chance(0.02):
		p.outcome = broken
	}
	return p
}

// ServeHTTP does the work of a request whose body begins with its serial number. The last element of the path is the life of the
// process that calls.
func (t *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller died while it sent
	}
	c := newCall(r, string(body))
	t.mu.Lock()
	t.calls = append(t.calls, c)
	t.serials[c.serial] = append(t.serials[c.serial], c)
	c.start = time.Now()
	t.mu.Unlock()

	p := t.plan(c.serial)
	timer := time.NewTimer(p.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		p.outcome = gone
	}
	answer := fmt.Sprintf("%s fence %d attempt %d %s", body, c.fence, c.attempt, strings.Repeat("x", p.size))
	t.mu.Lock()
	c.end, c.outcome = time.Now(), p.outcome
	if p.outcome == done || p.outcome == broken {
		c.answer = answer
	}
	if p.outcome == refused && t.onFinal != nil {
		t.onFinal(c)
	}
	t.mu.Unlock()
	respond(w, p.outcome, answer)
}

func respond(w http.ResponseWriter, o outcome, answer string) {
	switch o {
	case done:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, answer) // it fails when the caller has gone, which is a window
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
	case refused:
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		panic(http.ErrAbortHandler)
	}
}

func newCall(r *http.Request, body string) *call {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(r.Header.Get(name), 10, 64)
		return n
	}
	c := &call{
		lane: r.Header.Get("Seriatim-Key"), id: r.Header.Get("Seriatim-Request-Id"), life: r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:],
		ticket: number("Seriatim-Ticket"), fence: number("Seriatim-Fence"), attempt: number("Seriatim-Attempt"), outcome: running,
	}
	first, _, _ := strings.Cut(body, " ")
	c.serial, _ = strconv.Atoi(first)
	return c
}
