package twin

import (
	"context"
	"slices"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// What a journal keeps, by how many entries more it grows before it is cut, and for how many milliseconds after the last.
const (
	journalKept  = 100
	journalSpare = 20
	journalLife  = 3600000
)

// note has save append a transition.
func (c *call) note(e journal.Entry) {
	e.At = journal.Instant(c.now)
	c.notes = append(c.notes, e)
}

// write appends what has been noted to the journal.
func (c *call) write() {
	if len(c.notes) == 0 {
		return
	}
	c.j = append(c.j, c.notes...)
	if n := len(c.j); n > journalKept+journalSpare {
		c.j = slices.Clone(c.j[n-journalKept:])
	}
	c.jend = min(c.now+journalLife, c.s.end)
	c.notes = nil
}

// Journal is slot.Store.Journal.
func (s *Store) Journal(ctx context.Context, l slot.Lane) ([]journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "journal", l)
	if err != nil {
		return nil, err
	}
	defer s.end(c, l.Policy)
	return slices.Clone(c.j), nil
}
