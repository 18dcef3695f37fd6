package engine

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// Faults says what the emulator does wrong on purpose. The zero value does
// nothing wrong. [ParseFaults] reads it from text, String writes it.
type Faults struct {
	Late      []Chance    // a dispatch is late; of several that strike, the delays add up
	Jitter    Delay       // every dispatch is late by this much more
	Duplicate []Chance    // an attempt is sent once more, Delay after it; its answer counts for nothing
	LoseReply float64     // CreateTask commits, then answers UNAVAILABLE; 0 to 1
	Errors    []ErrorRate // calls are refused without effect
	Reorder   float64     // of the tasks that are due any one goes first; 0 to 1
	Freeze    []Chance    // at a dispatch: its queue then starts nothing for Delay
}

// Chance strikes with a Probability of 0 to 1 and then lasts Delay.
type Chance struct {
	Probability float64
	Delay       Delay
}

// Delay is a distribution of time: uniform from Min to Max, or exponential
// with mean Max when Exponential is set.
type Delay struct {
	Min, Max    time.Duration
	Exponential bool
}

// ErrorRate refuses calls of Method ("" for every method) with Code.
type ErrorRate struct {
	Probability float64
	Code        codes.Code
	Method      string
}

func (d Delay) draw(r *rand.Rand) time.Duration {
	switch {
	case d.Exponential:
		return time.Duration(r.ExpFloat64() * float64(d.Max))
	case d.Max <= d.Min:
		return d.Min
	default:
		return d.Min + time.Duration(r.Int64N(int64(d.Max-d.Min)+1))
	}
}

// sum draws every chance and adds up the delays of those that strike.
func sum(chances []Chance, r *rand.Rand) (total time.Duration, struck bool) {
	for _, c := range chances {
		if r.Float64() < c.Probability {
			total += c.Delay.draw(r)
			struck = true
		}
	}
	return total, struck
}

// dice are the random numbers of one decision. They depend on the seed, the
// decision and what it is about, never on the order in which decisions are
// made: the same seed gives the same faults, however calls interleave.
func (e *Engine) dice(decision, about string, n int64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(decision + "\x00" + about + "\x00" + strconv.FormatInt(n, 10)))
	return rand.New(rand.NewPCG(e.options.Seed, h.Sum64()))
}

// lateness is how long after its schedule time attempt n of a task starts.
func (e *Engine) lateness(task string, n int32) time.Duration {
	if len(e.faults.Late) == 0 && e.faults.Jitter == (Delay{}) {
		return 0
	}
	r := e.dice("late", task, int64(n))
	late, _ := sum(e.faults.Late, r)
	return late + e.faults.Jitter.draw(r)
}

// Refuse draws whether a call of an API method (such as "CreateTask") is to be
// refused, and returns the error to answer instead of performing it, or nil.
// The caller asks once per call; each asking is another draw.
func (e *Engine) Refuse(method string) error {
	if len(e.faults.Errors) == 0 {
		return nil
	}
	e.draws[method]++
	r := e.dice("error", method, e.draws[method])
	for _, rate := range e.faults.Errors {
		if (rate.Method == "" || rate.Method == method) && r.Float64() < rate.Probability {
			return injected(rate.Code, "error")
		}
	}
	return nil
}

// LoseReply draws whether the reply to a CreateTask that has been performed is
// lost, and returns the error to answer in its place, or nil.
func (e *Engine) LoseReply() error {
	if e.faults.LoseReply == 0 {
		return nil
	}
	e.draws["reply"]++
	if e.dice("lose-reply", "", e.draws["reply"]).Float64() >= e.faults.LoseReply {
		return nil
	}
	return injected(codes.Unavailable, "lose-reply")
}
