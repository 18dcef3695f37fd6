package chaos

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dice is a seeded source for many goroutines. Which of them draws what depends on how they are scheduled: the seed repeats the
// faults and their order, not the run.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed, stream uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, stream))} }

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.Float64() < p
}

func (d *dice) intN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// between is uniform.
func (d *dice) between(from, to time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return from + time.Duration(d.r.Int64N(int64(to-from)+1))
}

// about is exponential.
func (d *dice) about(mean time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.r.ExpFloat64() * float64(mean))
}

func (d *dice) shuffle(n int, swap func(i, j int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.r.Shuffle(n, swap)
}
