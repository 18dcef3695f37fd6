package simulation

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/slot/twin"
)

// Span is a uniform distribution of time.
type Span struct{ Low, High time.Duration }

// Faults are probabilities per arrow, 0 to 1. The zero value does nothing wrong.
type Faults struct {
	// Script faults: the call is lost, or its reply, and go-redis sends it again; or the caller gives up and the command runs
	// seconds later (a ghost); or all of Redis stalls for up to 4 s.
	LostCall, LostReply, Ghost, Stall float64
	// Queue faults: CreateTask refused for certain; failed before or after it was performed; landing up to 25 s after its caller
	// gave up. GetTask and GetQueue failed; GetTask does not see a task that is younger than 1.5 s.
	Refuse, CreateLost, CreateReplyLost, CreateLate, ReadFails, ReadStale float64
	// Delivery faults: late by 30 to 180 s, twice (at once or up to 3 minutes later), answered but the answer lost.
	Late, Duplicate, AnswerLost float64
	// Instance faults, at any arrow: the instance dies; it stands still for up to 8 leases.
	Crash, Pause float64
	// Client faults: the answer is lost on its way, the client sends the same in parallel.
	ClientLost, ClientTwice float64
	// Target faults: answers to retry (5xx), to come later (429), final ones.
	TargetRetry, TargetLater, TargetFinal float64
	// WakeLost: a wake-up gets lost.
	WakeLost float64
	// Faults of the record store: the call fails; it fails, and what it writes lands up to 20 s later; it takes up to 2 s; it is
	// performed, and its answer lost. StoreAway is how likely an outage of up to 6 minutes is, about every 10 minutes.
	StoreFails, StoreLate, StoreSlow, StoreReplyLost, StoreAway float64
	// Loss is how likely Redis loses what it holds, every 1 to 15 minutes while clients come.
	Loss float64
}

// Submission is one request of a load that is given, not drawn.
type Submission struct {
	// At is when its client sends it, after the start of the run.
	At   time.Duration
	Lane string
	// Takes is how long the target needs for it, each time.
	Takes time.Duration
}

// Moment is what becomes of a submission.
type Moment int

// The moments: its client has an answer, the target begins with it, the target has done it.
const (
	Answered Moment = iota
	Started
	Ended
)

// Operation is one call of an operator.
type Operation struct {
	// At is when, after the start of the run.
	At time.Duration
	// Method and Path are the call's; a function, since ids are known only then.
	Method string
	Path   func(w *World) string
	// Then, when set, looks at the world right after the call was answered with status.
	Then func(w *World, status int)
}

// Scenario is one run: a lane policy, a load and faults.
type Scenario struct {
	Seed        uint64
	Concurrency int
	Burst       int
	Spacing     time.Duration
	Lease       time.Duration
	Handler     Span
	// Mean, when set, makes handler times exponential with this mean.
	Mean time.Duration
	// Requests is how many are submitted, over Lanes lanes; Gap is the time between two submissions, 0 for all at once.
	Requests, Lanes int
	Gap             Span
	// Load, when set, is what is submitted, in place of Requests, Lanes, Gap, Handler and Mean. Watch, when set, is told what becomes
	// of submission i, and when after the start of the run; it is called from many goroutines.
	Load  []Submission
	Watch func(i int, m Moment, at time.Duration)
	// Async has every request go through the queue.
	Async bool
	// Durable lanes write their records through, by calls that can fail as those of Redis do.
	Durable bool
	// Decide has the record store decide how requests end, on durable lanes.
	Decide bool
	// Keyed is the share of clients with an idempotency key.
	Keyed  float64
	Faults Faults
	// Attempts and Backoff are the policy's. Zero: 20, and 1 s to 1 minute.
	Attempts               int
	BackoffMin, BackoffMax time.Duration
	// Guess is the interval that a lane begins with. Zero: what the lanes have shown, else 1 s.
	Guess time.Duration
	// Change, when set, changes the scenario at the instant ChangeAt after the start.
	Change   func(*Scenario)
	ChangeAt time.Duration
	// Operator has somebody do all that operators can, at random: pause and resume lanes and the target, cancel, purge, redrive
	// one or all, skip, resolve, list.
	Operator bool
	// Patient is the share of calls that wait for the end of the request (Prefer: wait), and of clients that ask for its state
	// and result afterwards.
	Patient float64
	// Operations are what an operator does meanwhile, by the HTTP API. Park and Hold are the policy's.
	Operations []Operation
	Park, Hold bool
	// Down, when set, says when the target is down: it answers 500 at once then.
	Down func(at time.Duration) bool
	// Settle is how long after the last client has left everything may take. Zero: 48 h, longer than any chain of snoozes.
	Settle time.Duration
	// Instances of each function. Zero: 2 of ingest, 3 of the executor.
	Ingests, Executors int
	// Sweep has an executor sweep each minute, as Cloud Scheduler asks.
	Sweep bool
	// Rate is the queue's dispatches a second. Zero: 500.
	Rate float64
	// Without takes rules out of the scripts, Defects puts faults into the functions' surroundings: mutations.
	Without []twin.Rule
	Defects []Defect

	// plan leaves submissions out, strikes lets only these faults happen: both by shrinking. Nil: all.
	plan    map[int]bool
	strikes map[uint64]bool
	trace   bool
}

// String is what a report needs to know.
func (s Scenario) String() string {
	return fmt.Sprintf("seed %d: n=%d burst=%d spacing=%v lease=%v handler=%v-%v %d requests on %d lanes gap=%v-%v async=%v",
		s.Seed, s.Concurrency, s.Burst, s.Spacing, s.Lease, s.Handler.Low, s.Handler.High, s.Requests, s.Lanes, s.Gap.Low, s.Gap.High, s.Async)
}

// Draw makes the scenario of a seed: every combination that the proof asks for comes up.
func Draw(seed uint64) Scenario {
	d := newDice(seed)
	r := d.roll("scenario", "")
	s := Scenario{
		Seed: seed, Concurrency: []int{1, 1, 3}[r.intn(3)], Burst: []int{1, 1, 5}[r.intn(3)],
		Spacing: []time.Duration{0, time.Second, time.Minute}[r.intn(3)], Lease: 5 * time.Second,
		Requests: 60 + r.intn(90), Lanes: 1 + r.intn(2), Async: r.intn(3) == 0, Keyed: 0.7, Attempts: 20, Sweep: true,
	}
	s.Handler = []Span{
		{5 * time.Millisecond, 300 * time.Millisecond}, {500 * time.Millisecond, 3 * time.Second}, {time.Second, 12 * time.Second},
		{20 * time.Second, 45 * time.Second},
	}[r.intn(4)]
	switch r.intn(3) { // dense, at the lane's own pace, sparse
	case 0:
		s.Gap = Span{0, 20 * time.Millisecond}
	case 1:
		s.Gap = Span{0, 2 * max(s.Spacing, s.Handler.High) / time.Duration(s.Concurrency)}
	default:
		s.Gap = Span{0, 6*max(s.Spacing, s.Handler.High) + time.Second}
	}
	durable := d.roll("durable", "")
	s.Durable = durable.intn(2) == 0
	s.Decide = s.Durable && durable.intn(2) == 0
	if operator := d.roll("operator", ""); operator.intn(3) == 0 {
		s.Operator, s.Park, s.Hold = true, operator.intn(2) == 0, operator.intn(2) == 0
		s.Attempts = []int{3, 20}[operator.intn(2)]
	}
	if patient := d.roll("patient", ""); patient.intn(2) == 0 {
		s.Patient = 0.15
	}
	s.Faults = storm(0.6 + 0.9*r.float())
	switch r.intn(10) {
	case 0:
		s.Faults = Faults{}
	case 1:
		s.Faults = Faults{Crash: 0.02, AnswerLost: 0.05, ClientLost: 0.1, ClientTwice: 0.2}
	case 2:
		s.Faults = Faults{Pause: 0.05, Ghost: 0.03, Duplicate: 0.2, ClientTwice: 0.2}
	case 3:
		s.Faults = Faults{Refuse: 0.1, CreateLost: 0.1, CreateReplyLost: 0.1, CreateLate: 0.1, ReadFails: 0.1, ReadStale: 0.5, ClientTwice: 0.3}
	case 4:
		s.Faults = Faults{
			CreateLate: 0.25, CreateReplyLost: 0.1, Ghost: 0.1, LostReply: 0.1, Pause: 0.05, Crash: 0.01, ReadStale: 0.5, ClientTwice: 0.3,
		}
	case 5:
		s.Faults = Faults{TargetRetry: 0.3, CreateLate: 0.1, CreateLost: 0.1, LostReply: 0.1, Duplicate: 0.2, Pause: 0.02, ClientTwice: 0.3}
	}
	if s.Durable && s.Faults != (Faults{}) {
		s.storeTrouble(0.2 + 1.8*durable.float())
	}
	if loss := d.roll("loss", ""); loss.intn(4) == 0 {
		s.Faults.Loss = 0.2 + 0.6*loss.float()
	}
	return s
}

// storeTrouble has the record store fail, at weight 1 in about 13 % of its calls, beside its outages.
func (s *Scenario) storeTrouble(w float64) {
	s.Faults.StoreFails, s.Faults.StoreLate, s.Faults.StoreSlow, s.Faults.StoreReplyLost = 0.03*w, 0.02*w, 0.05*w, 0.03*w
	s.Faults.StoreAway = min(1, 0.3*w)
}

// storm is all faults at once: at weight 1 they strike in about 9 % of the steps.
func storm(w float64) Faults {
	return Faults{
		LostCall: 0.02 * w, LostReply: 0.04 * w, Ghost: 0.01 * w, Stall: 0.002 * w,
		Refuse: 0.03 * w, CreateLost: 0.03 * w, CreateReplyLost: 0.04 * w, CreateLate: 0.03 * w, ReadFails: 0.03 * w, ReadStale: 0.3 * w,
		Late: 0.01 * w, Duplicate: 0.06 * w, AnswerLost: 0.03 * w, Crash: 0.006 * w, Pause: 0.01 * w,
		ClientLost: 0.05 * w, ClientTwice: 0.1 * w, TargetRetry: 0.05 * w, TargetLater: 0.02 * w, TargetFinal: 0.01 * w, WakeLost: 0.05 * w,
	}
}
