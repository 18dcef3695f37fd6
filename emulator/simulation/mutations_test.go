package simulation_test

import (
	"fmt"
	"time"

	"github.com/seriatim/seriatim/emulator/simulation"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// mutation is one change for the worse.
type mutation struct {
	name    string
	without twin.Rule
	defect  simulation.Defect
	stage
}

// stage is where a mutation shows. The zero value: any drawn scenario, and a promise broken.
type stage struct {
	// set changes the drawn scenario.
	set func(*simulation.Scenario)
	// beside is another defect: of two locks on one door the first is open already.
	beside simulation.Defect
	// costs, for a rule of speed, says what is worse than it may be.
	costs func(simulation.Result) string
}

func (m mutation) scenario(seed uint64) simulation.Scenario {
	s := simulation.Draw(seed)
	s.Settle = 2 * time.Hour // a lane that is wedged need not churn for long
	s.Operator, s.Park = false, false
	if m.set != nil {
		m.set(&s)
	}
	if m.without != "" {
		s.Without = []twin.Rule{m.without}
	}
	for _, d := range []simulation.Defect{m.defect, m.beside} {
		if d != "" {
			s.Defects = append(s.Defects, d)
		}
	}
	return s
}

// breaks says what went wrong, "" for nothing.
func (m mutation) breaks(r simulation.Result) string {
	switch {
	case len(r.Violations) > 0:
		return r.Violations[0]
	case m.costs != nil:
		return m.costs(r)
	}
	return ""
}

func mutations() (all []mutation) {
	for _, r := range twin.Rules {
		all = append(all, mutation{name: "without: " + string(r), without: r, stage: stages[string(r)]})
	}
	for _, d := range simulation.Defects {
		all = append(all, mutation{name: "defect: " + string(d), defect: d, stage: stages[string(d)]})
	}
	return all
}

// stages are those of mutations that no drawn scenario shows, or not soon.
var stages = map[string]stage{
	// Long runs that fail, on the fast path, whose CreateTask then takes long.
	string(twin.RetryRearms): {set: func(s *simulation.Scenario) {
		s.Async, s.Spacing, s.Lanes, s.Concurrency = false, 0, 3, 1
		s.Handler = simulation.Span{Low: 25 * time.Second, High: time.Minute}
		s.Gap, s.BackoffMin = simulation.Span{High: 30 * time.Second}, 100*time.Millisecond
		s.Faults = simulation.Faults{TargetRetry: 0.5, CreateLost: 0.4, CreateReplyLost: 0.1, CreateLate: 0.2}
	}},
	// Reads that do not see a new task, under snoozes.
	string(twin.StartConfirms): {set: unseen},
	string(twin.MissingUnchanged): {set: func(s *simulation.Scenario) {
		unseen(s)
		s.Faults.Pause, s.Faults.Late = 0.1, 0.05
	}},
	string(twin.VoidPastDeadline): {beside: simulation.DeadlineIgnored},
	string(twin.LaneOutlivesTasks): {set: func(s *simulation.Scenario) {
		s.Spacing, s.Async = 2*time.Minute, true
		s.Gap = simulation.Span{High: time.Minute}
	}},
	// Reserve is answered late, and the task comes late too.
	string(simulation.AgeFromReply): {set: func(s *simulation.Scenario) {
		s.Async, s.Keyed, s.Spacing, s.Lanes, s.Concurrency = true, 0, 0, 1, 1
		s.Handler, s.Gap = simulation.Span{High: time.Second}, simulation.Span{High: 5 * time.Second}
		s.Faults = simulation.Faults{LostReply: 0.6, CreateLost: 0.85}
	}},
	string(twin.Quarantine): {set: losing}, string(twin.RepairSkips): {set: losing}, string(twin.AdoptedKeepsTicket): {set: losing},
	string(twin.ReachHolds): {set: losing}, string(twin.YoungLooksUp): {set: losing}, string(twin.PaceOfTheLost): {set: losing},
	string(twin.UnnoticedForgotten):  {set: losing},
	string(simulation.NewUnverified): {set: losing}, string(simulation.LookupSkipped): {set: losing},
	string(twin.MarksRestored): {set: func(s *simulation.Scenario) {
		losing(s)
		s.Operator = true
	}},
	// Several drivers at once, whose instances crash.
	string(twin.OneKick): {set: func(s *simulation.Scenario) {
		s.Requests, s.Lanes, s.Concurrency, s.Burst, s.Spacing, s.Async = 1000, 1, 3, 1, 100*time.Millisecond, true
		s.Lease, s.Executors, s.Mean, s.Gap = 10*time.Second, 20, 60*time.Millisecond, simulation.Span{High: time.Millisecond}
		s.Faults = simulation.Faults{Crash: 0.004}
	}, costs: func(r simulation.Result) string {
		return more("kicks", r.Calls["kick task"], r.Requests/20)
	}},
	string(simulation.FinisherStops): {set: func(s *simulation.Scenario) {
		s.Faults = simulation.Faults{}
	}, costs: func(r simulation.Result) string {
		return more("idle seconds", int(r.Idle.Seconds()), int((r.Scenario.Lease + 15*time.Second).Seconds()))
	}},
}

// losing has Redis lose what it holds every few minutes.
func losing(s *simulation.Scenario) { s.Faults.Loss = 1 }

func unseen(s *simulation.Scenario) {
	s.Faults = simulation.Faults{ReadStale: 1, Duplicate: 0.1, Late: 0.02}
}

func more(what string, n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf("%d %s, at most %d expected", n, what, most)
}
