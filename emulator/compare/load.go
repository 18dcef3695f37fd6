package compare

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
)

const (
	// mean is that of the handler times, which are exponential.
	mean = 300 * ms
	// lateShare of the dispatches are late by lateBy, where a load says so.
	lateShare = 0.002
)

var lateBy = [2]time.Duration{30 * time.Second, 180 * time.Second}

// workload is what is submitted.
type workload struct {
	// Name is a word for files and flags, Title a line for people.
	Name, Title string
	// Spacing is the pace asked for; 0 is order only.
	Spacing time.Duration
	// Late has one dispatch of 500 come 30-180 s late.
	Late bool

	submissions []simulation.Submission
	quiet       func(lane string) bool // nil: no tenant counts as quiet
}

// interval is what the strategies that know no order but by time wait between two starts: the pace, and where none is asked for
// the time that a request usually takes.
func (l *workload) interval() time.Duration { return max(l.Spacing, mean) }

// loads are all there are, each without and with late dispatches.
func loads(seed uint64) (all []*workload) {
	for _, late := range []bool{false, true} {
		all = append(all,
			&workload{Name: "minute", Title: "1,000 requests of one key at once, to start 1 minute apart", Spacing: time.Minute, submissions: thousand(seed)},
			&workload{Name: "second", Title: "1,000 requests of one key at once, to start 1 second apart", Spacing: time.Second, submissions: thousand(seed)},
			&workload{Name: "order", Title: "1,000 requests of one key at once, order only", submissions: thousand(seed)},
			&workload{
				Name: "noisy", Title: "1,000 requests of one key at once among 100 quiet ones, to start 1 second apart", Spacing: time.Second,
				submissions: neighbours(seed), quiet: func(lane string) bool { return lane != noisy },
			})
		for _, l := range all[len(all)-4:] {
			l.Late = late
		}
	}
	return all
}

// noisy is the key of the thousand.
const noisy = "noisy"

// thousand requests come within two seconds.
func thousand(seed uint64) (load []simulation.Submission) {
	r := rand.New(rand.NewPCG(seed, 1))
	at := time.Duration(0)
	for range 1000 {
		at += time.Duration(r.Int64N(int64(4 * ms)))
		load = append(load, submission(r, at, noisy))
	}
	return load
}

// neighbours are the thousand, and a hundred tenants that send three requests within a tenth of a second, four times in ten
// minutes.
func neighbours(seed uint64) []simulation.Submission {
	load := thousand(seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for tenant := range 100 {
		for range 4 {
			at := time.Duration(r.Int64N(int64(10 * time.Minute)))
			for range 3 {
				at += time.Duration(r.Int64N(int64(30 * ms)))
				load = append(load, submission(r, at, fmt.Sprintf("quiet-%d", tenant)))
			}
		}
	}
	slices.SortStableFunc(load, func(a, b simulation.Submission) int { return cmp.Compare(a.At, b.At) })
	return load
}

func submission(r *rand.Rand, at time.Duration, lane string) simulation.Submission {
	return simulation.Submission{At: at, Lane: lane, Takes: time.Duration(r.ExpFloat64() * float64(mean))}
}
