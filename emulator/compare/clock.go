package compare

import (
	"container/heap"
	"iter"
	"math/rand/v2"
	"time"
)

// world is one run of a baseline: a virtual clock and processes that take turns on it. Only one runs at a time, and what is due at
// one instant runs in the order in which it was planned, so one seed is one history.
type world struct {
	now   time.Duration // since the start
	rand  *rand.Rand
	plans agenda
	seq   uint64
	spare []*coroutine
	made  []*coroutine
	log   *log
	costs costs
}

// process is a job on its way: where it waits, it lets others run.
type process struct {
	*world
	job func(*process)
	due time.Duration
	seq uint64
	on  *coroutine // nil: not begun
}

// coroutine runs one process after the other.
type coroutine struct {
	process *process
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
}

func newWorld(seed uint64, requests int) *world {
	return &world{rand: rand.New(rand.NewPCG(seed, 0)), log: newLog(requests)}
}

// at plans job for an instant.
func (w *world) at(at time.Duration, job func(*process)) { w.plan(&process{world: w, job: job}, at) }

func (w *world) plan(p *process, at time.Duration) {
	w.seq++
	p.due, p.seq = max(at, w.now), w.seq
	heap.Push(&w.plans, p)
}

// run goes on until nothing is planned any more.
func (w *world) run() {
	for len(w.plans) > 0 {
		p := heap.Pop(&w.plans).(*process)
		w.now = p.due
		if p.on == nil {
			p.on = w.coroutine()
			p.on.process = p
		}
		p.on.resume()
	}
	for _, c := range w.made {
		c.stop()
	}
}

// coroutine is one that has nothing to do.
func (w *world) coroutine() *coroutine {
	if last := len(w.spare) - 1; last >= 0 {
		c := w.spare[last]
		w.spare = w.spare[:last]
		return c
	}
	c := &coroutine{}
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		for c.yield = yield; ; {
			c.process.job(c.process)
			w.spare = append(w.spare, c)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	w.made = append(w.made, c)
	return c
}

// sleep lets d go by.
func (p *process) sleep(d time.Duration) {
	p.plan(p, p.now+d)
	p.park()
}

// pass lets a time between low and high go by.
func (p *process) pass(low, high time.Duration) { p.sleep(p.span(low, high)) }

// park stops p until somebody plans it.
func (p *process) park() { p.on.yield(struct{}{}) }

// span is uniform in [low, high).
func (w *world) span(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rand.Int64N(int64(high-low)))
}

// agenda is a heap of processes by the instant they are due.
type agenda []*process

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

func (a agenda) Less(i, j int) bool {
	return a[i].due < a[j].due || a[i].due == a[j].due && a[i].seq < a[j].seq
}

// Push and Pop are for container/heap.
func (a *agenda) Push(x any) { *a = append(*a, x.(*process)) }

// Pop takes the last.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	p := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return p
}
