package record

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a store in the memory of one process: the emulator's default, and
// a double in tests. It is safe for concurrent use. It keeps what is given to
// it, and answers with the same bytes: nobody may change them.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	records map[string]Record
	sweep   int // the number of records at which expired ones are looked for
}

// NewMemory returns an empty store that expires records by now, for example
// time.Now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, records: map[string]Record{}, sweep: 1024}
}

// Put is [Firestore.Put]; it does not fail with ErrUnavailable.
func (m *Memory) Put(_ context.Context, r Record) (Record, error) {
	if err := r.validate(); err != nil {
		return Record{}, err
	}
	r = r.rounded()
	m.mu.Lock()
	defer m.mu.Unlock()
	if stored, ok := m.alive(r.Key, r.ID); ok && !stored.yields(r) {
		return stored, nil
	}
	m.drop()
	m.records[name(r.Key, r.ID)] = r
	return r, nil
}

// Get is [Firestore.Get].
func (m *Memory) Get(_ context.Context, key, id string) (Record, bool, error) {
	if err := validName(key, id); err != nil {
		return Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.alive(key, id)
	return r, ok, nil
}

// Delete is [Firestore.Delete].
func (m *Memory) Delete(_ context.Context, key, id string, ticket int64) error {
	if err := validName(key, id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records[name(key, id)].Ticket <= ticket {
		delete(m.records, name(key, id))
	}
	return nil
}

// List is [Firestore.List].
func (m *Memory) List(_ context.Context, key string, status Status, size int, token string) (Page, error) {
	l, err := newList(key, status, false, size, token)
	if err != nil {
		return Page{}, err
	}
	return m.page(l), nil
}

// DeadLetters is [Firestore.DeadLetters].
func (m *Memory) DeadLetters(_ context.Context, key string, size int, token string) (Page, error) {
	l, err := newList(key, Dead, true, size, token)
	if err != nil {
		return Page{}, err
	}
	return m.page(l), nil
}

func (m *Memory) page(l list) Page {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Record
	for _, r := range m.records {
		in := r.Key == l.key && (l.status == "" || r.Status == l.status) && m.now().Before(r.ExpireAt)
		if in && (l.after == (position{}) || l.compare(l.after, l.at(r)) < 0) {
			found = append(found, r.bare())
		}
	}
	slices.SortFunc(found, func(a, b Record) int { return l.compare(l.at(a), l.at(b)) })
	if len(found) <= l.size {
		return Page{Records: found}
	}
	found = found[:l.size]
	return Page{Records: found, Next: l.at(found[l.size-1]).token()}
}

// compare orders two positions of a list.
func (l list) compare(a, b position) int {
	order := cmp.Or(cmp.Compare(a.Ticket, b.Ticket), a.Finished.Compare(b.Finished), cmp.Compare(a.Name, b.Name))
	if l.newest {
		return -order
	}
	return order
}

func (m *Memory) alive(key, id string) (Record, bool) {
	r, ok := m.records[name(key, id)]
	if !ok || !m.now().Before(r.ExpireAt) {
		return Record{}, false
	}
	return r, true
}

// drop forgets what has expired, now and then: there are never more than twice
// as many records as alive ones, or 1024.
func (m *Memory) drop() {
	if len(m.records) < m.sweep {
		return
	}
	for n, r := range m.records {
		if !m.now().Before(r.ExpireAt) {
			delete(m.records, n)
		}
	}
	m.sweep = max(1024, 2*len(m.records))
}

// rounded is r with times as Firestore keeps them.
func (r Record) rounded() Record {
	for _, t := range []*time.Time{&r.Submitted, &r.Started, &r.Finished, &r.ExpireAt} {
		*t = t.Truncate(time.Microsecond).UTC()
	}
	return r
}
