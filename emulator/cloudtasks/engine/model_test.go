package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// The model says again, in another form than the engine, when attempts start:
// seconds as floats, a bucket of fractional tokens, tasks in a plain slice
// that is searched. It knows the documented rules and the throttle's amounts.

// plan is one random queue with its tasks and how their targets behave.
type plan struct {
	rate       float64
	burst      int
	concurrent int
	attempts   int
	total      float64 // max_retry_duration
	low, high  float64
	doublings  int
	tasks      []planned
	changes    []change
}

type planned struct {
	create, due float64
	deadline    float64
	behaviours  []behaviour // of its attempts, the last for ever
}

type behaviour struct {
	status     int
	takes      float64
	retryAfter float64
}

// change is a call on the queue at an instant.
type change struct {
	at    float64
	pause bool
	rate  float64 // 0: pause or resume
}

// begun is one start of an attempt.
type begun struct {
	at   float64
	task int
}

type modelTask struct {
	planned
	index    int
	ready    float64
	tries    int
	first    float64
	waiting  bool
	finishes float64 // while it runs
	ends     behaviour
	started  int // order of its present attempt
}

type model struct {
	plan
	now      float64
	tokens   float64
	paused   bool
	tasks    []*modelTask // of those created, in order
	running  int
	starts   []begun
	level    int // the rate is halved so often
	raised   float64
	recovers float64
	failing  float64
}

// simulate returns all starts up to end.
func (p plan) simulate(end float64) []begun {
	m := &model{plan: p, tokens: float64(p.burst), raised: -1e9}
	for {
		m.act()
		next := m.next()
		if next > end {
			return m.starts
		}
		m.tokens = min(float64(m.burst), m.tokens+(next-m.now)*m.pace())
		m.now = next
	}
}

func (m *model) pace() float64 { return m.rate / math.Exp2(float64(m.level)) }

// next is the instant at which something can change.
func (m *model) next() float64 {
	next := math.Inf(1)
	consider := func(at float64) {
		if at > m.now {
			next = min(next, at)
		}
	}
	for _, c := range m.changes {
		consider(c.at)
	}
	for _, p := range m.plan.tasks {
		consider(p.create)
	}
	for _, t := range m.tasks {
		if t.waiting {
			consider(t.ready)
		} else {
			consider(t.finishes)
		}
	}
	if m.tokens < 1 {
		consider(m.now + max(1e-9, (1-m.tokens)/m.pace()))
	}
	consider(m.recovers)
	return next
}

// act does all that happens now.
func (m *model) act() {
	for _, c := range m.changes {
		if c.at == m.now {
			m.apply(c)
		}
	}
	for i, p := range m.plan.tasks {
		if p.create == m.now {
			m.tasks = append(m.tasks, &modelTask{planned: p, index: i, ready: max(p.due, p.create), waiting: true})
		}
	}
	for m.level > 0 && m.recovers <= m.now {
		m.level--
		m.recovers += 10
	}
	m.finish()
	for m.startOne() {
	}
}

func (m *model) apply(c change) {
	if c.rate == 0 {
		m.paused = c.pause
		return
	}
	m.rate = c.rate
	m.burst = int(min(100, math.Ceil(c.rate)))
	m.tokens = min(m.tokens, float64(m.burst))
}

// finish ends the attempts that end now, in the order of their starts.
func (m *model) finish() {
	var over []*modelTask
	for _, t := range m.tasks {
		if !t.waiting && t.finishes == m.now {
			over = append(over, t)
		}
	}
	slices.SortFunc(over, func(a, b *modelTask) int { return a.started - b.started })
	for _, t := range over {
		m.running--
		failed := t.ends.status < 200 || t.ends.status > 299
		m.slow(t.ends, failed)
		if !failed || m.spent(t) {
			m.tasks = slices.DeleteFunc(m.tasks, func(o *modelTask) bool { return o == t })
			continue
		}
		t.waiting, t.ready = true, truncate(m.now+max(m.wait(t.tries), t.ends.retryAfter))
	}
}

func (m *model) slow(b behaviour, failed bool) {
	m.failing *= 0.95
	if failed {
		m.failing += 0.05
	}
	if b.status != 429 && b.status != 503 && !(failed && m.failing > 0.5) {
		return
	}
	m.recovers = max(m.recovers, m.now+max(10, b.retryAfter))
	if m.level < 6 && m.now-m.raised >= 1 {
		m.level, m.raised = m.level+1, m.now
	}
}

// spent: "stops only when both are satisfied"; a limit not set is none.
func (m *model) spent(t *modelTask) bool {
	tried, aged := t.tries >= m.attempts, m.now-t.first >= m.total
	if m.attempts == -1 {
		return m.total > 0 && aged
	}
	return tried && (m.total == 0 || aged)
}

// wait walks the documented sequence: doubling, then linear, then capped.
func (m *model) wait(failures int) float64 {
	interval, step := m.low, 0.0
	for k := 2; k <= failures; k++ {
		if k <= m.doublings+1 {
			interval *= 2
			continue
		}
		if step == 0 {
			step = interval
		}
		interval += step
	}
	return min(interval, m.high)
}

// truncate is the documented precision of schedule times.
func truncate(seconds float64) float64 { return math.Floor(seconds*1e6+1e-3) / 1e6 }

// startOne starts the task that has been due longest, if the queue may.
func (m *model) startOne() bool {
	var first *modelTask
	for _, t := range m.tasks {
		if t.waiting && t.ready <= m.now && (first == nil || t.ready < first.ready-1e-9) { // floats of one instant differ
			first = t
		}
	}
	if first == nil || m.paused || m.running >= m.concurrent || m.tokens < 1-1e-7 {
		return false
	}
	m.tokens--
	m.running++
	first.tries++
	if first.tries == 1 {
		first.first = m.now
	}
	first.ends = first.behaviours[min(first.tries, len(first.behaviours))-1]
	first.waiting, first.started = false, len(m.starts)
	first.finishes = m.now + first.ends.takes
	if first.ends.takes > first.deadline {
		first.finishes, first.ends = m.now+first.deadline, behaviour{status: 504}
	}
	m.starts = append(m.starts, begun{m.now, first.index})
	return true
}

// drawPlan draws times in whole milliseconds, with a few microseconds that
// differ from task to task, so that nothing but the plan decides a tie.
func drawPlan(t *rapid.T) plan {
	ms := func(what string, low, high int) float64 {
		return float64(rapid.IntRange(low, high).Draw(t, what)) / 1000
	}
	p := plan{
		rate:       rapid.SampledFrom([]float64{0.2, 0.5, 1, 2, 8, 50, 500}).Draw(t, "rate"),
		burst:      rapid.IntRange(1, 4).Draw(t, "burst"),
		concurrent: rapid.IntRange(1, 4).Draw(t, "concurrent"),
		attempts:   rapid.SampledFrom([]int{-1, 1, 2, 5, 20}).Draw(t, "attempts"),
		total:      rapid.SampledFrom([]float64{0, 0, 5, 60}).Draw(t, "duration"),
		low:        ms("min backoff", 100, 5000),
		doublings:  rapid.IntRange(1, 5).Draw(t, "doublings"),
	}
	p.high = p.low * float64(rapid.IntRange(1, 50).Draw(t, "max backoff"))
	for i := range rapid.IntRange(1, 25).Draw(t, "tasks") {
		odd := float64(i+1) * 17e-6
		task := planned{create: ms("create", 0, 30000) + odd, deadline: ms("deadline", 15000, 20000)}
		task.due = task.create + ms("delay", -1000, 30000)
		for range rapid.IntRange(1, 4).Draw(t, "behaviours") {
			task.behaviours = append(task.behaviours, behaviour{
				status:     rapid.SampledFrom([]int{200, 204, 302, 400, 404, 429, 500, 503}).Draw(t, "status"),
				takes:      rapid.SampledFrom([]float64{0.02, 0.3, 3, 25}).Draw(t, "takes") + odd*5,
				retryAfter: rapid.SampledFrom([]float64{0, 0, 0, 7, 40}).Draw(t, "retry after"),
			})
		}
		p.tasks = append(p.tasks, task)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "changes") {
		c := change{at: ms("at", 0, 60000) + float64(i+1)*7e-6, pause: rapid.Bool().Draw(t, "pause")}
		c.rate = rapid.SampledFrom([]float64{0, 0, 0.5, 4, 100}).Draw(t, "new rate")
		p.changes = append(p.changes, c)
	}
	return p
}

func span(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// drive lets the engine live through the same plan.
func (p plan) drive(t *rapid.T, end float64) []begun {
	w := setup(t, engine.Options{}, limits(p.rate, int32(p.burst), int32(p.concurrent)),
		retries(int32(p.attempts), span(p.total), span(p.low), span(p.high), int32(p.doublings)))
	indexes, tries := map[string]int{}, map[string]int{}
	w.answer = func(a *engine.Attempt) (engine.Result, time.Duration) {
		list := p.tasks[indexes[a.Task]].behaviours
		tries[a.Task]++
		b := list[min(tries[a.Task], len(list))-1]
		return engine.Result{Status: b.status, RetryAfter: span(b.retryAfter)}, span(b.takes)
	}
	type call struct {
		at float64
		do func()
	}
	var calls []call
	for i, task := range p.tasks {
		calls = append(calls, call{task.create, func() {
			created := w.create(due(start.Add(span(task.due))), deadline(span(task.deadline)))
			indexes[created.GetName()] = i
		}})
	}
	for _, c := range p.changes {
		calls = append(calls, call{c.at, func() { c.perform(w) }})
	}
	slices.SortStableFunc(calls, func(a, b call) int { return int(span(a.at) - span(b.at)) })
	for _, c := range calls {
		w.run(start.Add(span(c.at)).Sub(w.now))
		c.do()
	}
	w.run(start.Add(span(end)).Sub(w.now))
	var starts []begun
	for _, a := range w.starts {
		starts = append(starts, begun{a.Started.Sub(start).Seconds(), indexes[a.Task]})
	}
	return starts
}

func (c change) perform(w *world) {
	var err error
	switch {
	case c.rate != 0:
		_, err = w.UpdateQueue(w.now, &cloudtaskspb.Queue{Name: name, RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: c.rate}},
			[]string{"rate_limits.max_dispatches_per_second"})
	case c.pause:
		_, err = w.PauseQueue(name)
	default:
		_, err = w.ResumeQueue(name)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestDispatchesAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const end = 400
		p := drawPlan(t)
		want, got := p.simulate(end), p.drive(t, end)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i].task != got[i].task || math.Abs(want[i].at-got[i].at) > 1e-5 {
				t.Fatalf("start %d differs\nmodel  %s\nengine %s", i, around(want, i), around(got, i))
			}
		}
	})
}

// around prints the starts about the i-th.
func around(list []begun, i int) string {
	low, high := max(0, min(i-2, len(list))), min(len(list), i+3)
	return fmt.Sprintf("%d starts, from %d: %v", len(list), low, list[low:high])
}
