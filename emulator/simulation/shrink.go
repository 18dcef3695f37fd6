package simulation

import (
	"slices"
	"testing"
	"time"
)

// Shrink makes a failing run smaller while it still breaks a promise: it leaves out kinds of faults, then submissions, then
// single faults. It ends after the budget, in real time, with the smallest that it has found by then, its history kept; a budget of 0
// leaves nothing out.
func Shrink(t *testing.T, failed Result, budget time.Duration) Result {
	t.Helper()
	s := &shrinker{t: t, best: failed, end: time.Now().Add(budget)}
	if budget == 0 {
		return retold(t, failed)
	}
	if !s.fails(failed.Scenario) {
		return failed // it does not repeat
	}
	var kinds []string
	for _, f := range s.best.struck {
		if !slices.Contains(kinds, f.what) {
			kinds = append(kinds, f.what)
		}
	}
	happened := s.best.struck
	minimal(kinds, func(kept []string) bool {
		return s.fails(s.best.Scenario.striking(happened, func(f strike) bool { return slices.Contains(kept, f.what) }))
	})
	submissions := make([]int, failed.Scenario.Requests)
	for i := range submissions {
		submissions[i] = i
	}
	minimal(submissions, func(kept []int) bool {
		try := s.best.Scenario
		try.plan = set(kept)
		return s.fails(try)
	})
	minimal(s.best.struck, func(kept []strike) bool {
		return s.fails(s.best.Scenario.striking(kept, func(strike) bool { return true }))
	})
	return retold(t, s.best, failed)
}

// retold runs the first scenario that breaks a promise again with its history kept: a run that was left little may depend on what
// keeping a history takes.
func retold(t *testing.T, runs ...Result) (r Result) {
	t.Helper()
	for _, run := range runs {
		run.Scenario.trace = true
		if r = Run(t, run.Scenario); len(r.Violations) > 0 {
			break
		}
	}
	return r
}

// shrinker keeps the smallest run that fails.
type shrinker struct {
	t    *testing.T
	best Result
	end  time.Time
}

// fails runs a scenario; past the end it says that none fails, so that nothing more is left out.
func (s *shrinker) fails(try Scenario) bool {
	if time.Now().After(s.end) {
		return false
	}
	r := Run(s.t, try)
	if len(r.Violations) == 0 {
		return false
	}
	s.best = r
	return true
}

// striking is s with those faults only.
func (s Scenario) striking(list []strike, keep func(strike) bool) Scenario {
	s.strikes = map[uint64]bool{}
	for _, f := range list {
		if keep(f) {
			s.strikes[f.id] = true
		}
	}
	return s
}

func set[T comparable](list []T) map[T]bool {
	out := make(map[T]bool, len(list))
	for _, v := range list {
		out[v] = true
	}
	return out
}

// minimal is ddmin: it leaves out chunks of list, ever smaller ones, while bad holds for the rest.
func minimal[T any](list []T, bad func([]T) bool) {
	for chunk := (len(list) + 1) / 2; chunk >= 1 && len(list) > 0; {
		removed := false
		for from := 0; from < len(list); {
			to := min(from+chunk, len(list))
			rest := slices.Concat(list[:from], list[to:])
			if bad(rest) {
				list, removed = rest, true
			} else {
				from = to
			}
		}
		switch {
		case chunk > 1:
			chunk /= 2
		case !removed:
			return
		}
	}
}
