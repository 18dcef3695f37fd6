package engine_test

import (
	"math"
	"slices"
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
