package engine

import "time"

// tombstones are names that are taken although nothing bears them any more.
type tombstones struct {
	until map[string]time.Time
	order []tombstone // oldest first
}

type tombstone struct {
	name  string
	until time.Time
}

// add blocks name until an instant that must not lie before earlier ones.
func (t *tombstones) add(name string, until time.Time) {
	if t.until == nil {
		t.until = map[string]time.Time{}
	}
	t.until[name] = until
	t.order = append(t.order, tombstone{name, until})
}

// blocks reports whether name is still taken at now.
func (t *tombstones) blocks(name string, now time.Time) bool {
	until, ok := t.until[name]
	return ok && until.After(now)
}

// sweep forgets what has run out; its cost is spread over the calls to add.
func (t *tombstones) sweep(now time.Time) {
	for len(t.order) > 0 && !t.order[0].until.After(now) {
		old := t.order[0]
		t.order = t.order[1:]
		if t.until[old.name].Equal(old.until) { // not blocked anew since
			delete(t.until, old.name)
		}
	}
}
