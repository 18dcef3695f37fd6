package simulation

import "testing"

// Shrink makes a failing scenario smaller while it still breaks a promise: it leaves out submissions, then faults.
func Shrink(t *testing.T, failed Result) Result {
	t.Helper()
	s := failed.Scenario
	fails := func(s Scenario) (Result, bool) {
		r := Run(t, s)
		return r, len(r.Violations) > 0
	}
	submissions := make([]int, s.Requests)
	for i := range submissions {
		submissions[i] = i
	}
	kept := minimal(submissions, func(list []int) bool {
		try := s
		try.plan = set(list)
		_, bad := fails(try)
		return bad
	})
	s.plan = set(kept)
	best, bad := fails(s)
	if !bad {
		return failed // it does not repeat
	}
	faults := make([]uint64, len(best.struck))
	for i, f := range best.struck {
		faults[i] = f.id
	}
	left := minimal(faults, func(list []uint64) bool {
		try := s
		try.strikes = set(list)
		_, bad := fails(try)
		return bad
	})
	s.strikes = set(left)
	s.trace = true
	if r, bad := fails(s); bad {
		return r
	}
	best.Scenario.trace = true
	return Run(t, best.Scenario)
}

func set[T comparable](list []T) map[T]bool {
	out := make(map[T]bool, len(list))
	for _, v := range list {
		out[v] = true
	}
	return out
}

// minimal is ddmin: it returns a part of list for which bad still holds, of which no chunk can be left out.
func minimal[T any](list []T, bad func([]T) bool) []T {
	for chunk := (len(list) + 1) / 2; chunk >= 1 && len(list) > 0; {
		removed := false
		for from := 0; from < len(list); {
			to := min(from+chunk, len(list))
			rest := append(append([]T{}, list[:from]...), list[to:]...)
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
			return list
		}
	}
	return list
}
