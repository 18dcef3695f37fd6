package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// World is one run under way.
type World struct {
	Scenario
	dice    *dice
	defects map[Defect]bool
	start   time.Time
	redis   *twin.Store
	plain   *plain
	records *record.Memory
	marks   *marks.Memory
	lived   atomic.Pointer[instance] // who saw the first life of Redis
	oracle  *oracle
	queue   *queue
	wakes   *broker
	ctx     context.Context

	steps atomic.Int64 // calls over a network, each a point of fault

	performing sync.Mutex // held by the one command that Redis carries out; guards the two below, redis and plain
	by         caller
	server     int64 // the life of the server

	mu        sync.Mutex // guards all below; steps of the world are short and never wait under it
	ingests   []*instance
	executors []*instance
	old       []*instance
	made      int
	stalled   time.Time
	away      time.Time // until then the record store is not to be reached
	clients   sync.WaitGroup
	interval  time.Duration
	struck    []strike
	lines     []line
	over      bool
	counts    map[string]int
}

// strike is a fault that happened.
type strike struct {
	id   uint64
	what string
}

// Run simulates s. It must not be called inside a bubble.
func Run(t *testing.T, s Scenario) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s)
		w.run()
		result = w.result()
	})
	return result
}

func newWorld(s Scenario) *World {
	s.Ingests, s.Executors = orElse(s.Ingests, 2), orElse(s.Executors, 3)
	s.Attempts = orElse(s.Attempts, 20)
	s.BackoffMin, s.BackoffMax = orElse(s.BackoffMin, time.Second), orElse(s.BackoffMax, time.Minute)
	s.Rate, s.Settle = orElse(s.Rate, 500), orElse(s.Settle, 48*time.Hour)
	if s.Faults.Loss > 0 {
		s.Settle *= 5 // each loss lets what is new wait for what was there, and the next one for both
	}
	if s.Load != nil {
		s.Requests = len(s.Load)
	}
	if s.Watch == nil {
		s.Watch = func(int, Moment, time.Duration) {}
	}
	w := &World{
		Scenario: s, dice: newDice(s.Seed), defects: map[Defect]bool{}, start: time.Now(), counts: map[string]int{}, interval: s.Guess,
	}
	for _, d := range s.Defects {
		w.defects[d] = true
	}
	w.ctx = w.logging(context.Background())
	w.oracle = newOracle(w)
	w.wakes = newBroker(w)
	w.queue = newQueue(w)
	w.records, w.plain = record.NewMemory(time.Now), newPlain()
	w.plain.gone, w.plain.info = w.oracle.letterGone, w.info
	w.marks, w.server = marks.NewMemory(time.Now), 1
	w.redis = twin.New(twin.Options{
		Now: func() int64 { return time.Now().UnixMilli() }, Guess: w.guess, Learned: w.learned, Publish: w.wakes.publish,
		Without: s.Without, Paused: func() []string { return w.by.blocked },
	})
	for range s.Ingests {
		w.ingests = append(w.ingests, w.boot("ingest"))
	}
	for range s.Executors {
		w.executors = append(w.executors, w.boot("executor"))
	}
	return w
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// guess and learned are the interval of the policy, which all instances share here.
func (w *World) guess(string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return orElse(w.interval, time.Second)
}

func (w *World) learned(_ string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Guess == 0 {
		w.interval = orElse(w.interval, d)
		w.interval += (d - w.interval) / 5
	}
}

const (
	// unwind outlasts every delivery, timer and late command.
	unwind = 2 * time.Hour
	look   = 5 * time.Second
)

// run drives the world to its end.
func (w *World) run() {
	if w.Change != nil {
		time.AfterFunc(w.ChangeAt, w.change)
	}
	for _, op := range w.Operations {
		w.clients.Go(func() { w.operate(op) })
	}
	if w.Sweep {
		go w.sweep()
	}
	gone := make(chan struct{})
	go w.outages()
	go w.lose(gone)
	if w.Operator {
		go w.operateAtRandom(gone)
	}
	w.submitAll()
	w.clients.Wait()
	close(gone)
	for end := time.Now().Add(w.Settle + time.Duration(w.Requests)*2*w.Spacing); !w.ended(); time.Sleep(look) {
		if w.Operator {
			w.setFree()
		}
		if time.Now().After(end) {
			w.oracle.wedged()
		}
	}
	w.oracle.audit()
	w.stop()
	time.Sleep(unwind)
	w.wakes.close()
}

// change is a deployment: new instances take all calls from now on, the old ones end what they have.
func (w *World) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Change(&w.Scenario)
	w.tracef("", "the scenario changes")
	for i := range w.ingests {
		w.ingests[i] = w.boot("ingest")
	}
	for i := range w.executors {
		w.old = append(w.old, w.executors[i])
		w.executors[i] = w.boot("executor")
	}
}

// ended says that nothing remains to be done, or that a promise has been broken.
func (w *World) ended() bool { return w.oracle.settled() && w.queue.empty() || w.oracle.broken() }

// stop ends every instance.
func (w *World) stop() {
	w.mu.Lock()
	w.over = true
	all := slices.Concat(w.ingests, w.executors, w.old)
	w.mu.Unlock()
	w.queue.stop()
	for _, in := range all {
		in.dead.Store(true)
	}
}

// strikes says whether a fault happens now.
func (w *World) strike(what, about string, probability float64) bool {
	if probability == 0 {
		return false
	}
	r := w.dice.roll(what, about)
	if r.float() >= probability || w.strikes != nil && !w.strikes[r.id] {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck = append(w.struck, strike{r.id, what})
	if w.trace {
		w.tracef("", "FAULT %s: %s", what, about)
	}
	return true
}

// faults are those in force.
func (w *World) faults() Faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Faults
}

func (w *World) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// line is one line of the trace.
type line struct {
	at   time.Duration
	lane string
	text string
}

// tracef needs w.mu.
func (w *World) tracef(lane, format string, args ...any) {
	if w.trace {
		w.lines = append(w.lines, line{time.Since(w.start), lane, fmt.Sprintf(format, args...)})
	}
}

func (w *World) note(lane, format string, args ...any) {
	if w.trace {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tracef(lane, format, args...)
	}
}

// logging has the functions' log lines go nowhere, or into the trace.
func (w *World) logging(ctx context.Context) context.Context {
	handler := slog.DiscardHandler
	if w.trace {
		handler = &traceHandler{world: w}
	}
	return withLogger(ctx, slog.New(handler))
}
