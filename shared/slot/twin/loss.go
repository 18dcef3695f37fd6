package twin

import (
	"maps"
	"slices"
)

// Empty loses all lanes, as a Redis does that starts anew.
func (s *Store) Empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes = map[string]*lane{}
}

// Snapshot is the state of all lanes at an instant. It can be rolled back to more than once.
type Snapshot map[string]*lane

// Snapshot copies the state, as a replica has it that lags.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.lanes)
}

// Rollback replaces the state by an earlier one, as a failover to a replica that lagged does.
func (s *Store) Rollback(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes = copied(to)
}

func copied(lanes map[string]*lane) map[string]*lane {
	out := make(map[string]*lane, len(lanes))
	for key, l := range lanes {
		out[key] = l.clone()
	}
	return out
}

func (l *lane) clone() *lane {
	out := *l
	out.gaps = slices.Clone(l.gaps)
	out.q, out.records = values(l.q), values(l.records)
	out.l, out.v, out.bodies = maps.Clone(l.l), maps.Clone(l.v), maps.Clone(l.bodies)
	out.d, out.o, out.f = slices.Clone(l.d), slices.Clone(l.o), slices.Clone(l.f)
	return &out
}

// values copies a map with what its pointers point to.
func values[K comparable, V any](m map[K]*V) map[K]*V {
	out := make(map[K]*V, len(m))
	for k, v := range m {
		whole := *v
		out[k] = &whole
	}
	return out
}
