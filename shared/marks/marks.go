package marks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

const (
	// Life is how long marks stay after their last change. Cloud Tasks keeps a task 31 days: one day more.
	Life = 32 * 24 * time.Hour
	// TargetsLife is how long the paused targets stay after their last change, as they do in Redis.
	TargetsLife = 366 * 24 * time.Hour
	// MaxParked bounds Marks.Parked; a lane stands on as many tickets as it has concurrency, at most.
	MaxParked = 1000
	// maxName bounds a lane key and the name of a target, in bytes.
	maxName = 512
)

// Errors of a store.
var (
	// ErrInvalid: a key or a name is out of bounds; to try again is of no use.
	ErrInvalid = errors.New("invalid marks")
	// ErrUnavailable: the store cannot serve now. A change may still have taken effect when its answer was lost; to repeat it is
	// safe.
	ErrUnavailable = errors.New("marks unavailable")
)

// Marks are what must outlive Redis of one lane. The zero value says that there is nothing to know.
type Marks struct {
	// Paused is true while the lane is held.
	Paused bool
	// Purged: the tickets below it were purged. 0: none.
	Purged int64
	// Parked are the tickets on which the lane stands parked, ascending, each once, MaxParked at most: of more the lowest go.
	Parked []int64
	// Horizon is until when tasks of accepted requests may still come, to the microsecond, in UTC. Zero: none come.
	Horizon time.Time
}

// Purge marks the tickets below ticket as purged. Purged only grows.
func (m *Marks) Purge(ticket int64) { m.Purged = max(m.Purged, ticket) }

// Await says that a task may come until then. Horizon only grows.
func (m *Marks) Await(until time.Time) {
	if until.After(m.Horizon) {
		m.Horizon = until
	}
}

// Park adds a ticket on which the lane stands.
func (m *Marks) Park(ticket int64) { m.Parked = append(m.Parked, ticket) }

// Unpark takes a ticket out, on which the lane stands no longer.
func (m *Marks) Unpark(ticket int64) {
	m.Parked = slices.DeleteFunc(m.Parked, func(t int64) bool { return t == ticket })
}

// Equal says whether two lanes' marks say the same.
func (m Marks) Equal(other Marks) bool {
	return m.Paused == other.Paused && m.Purged == other.Purged && slices.Equal(m.Parked, other.Parked) && m.Horizon.Equal(other.Horizon)
}

// normal is m as stores keep it, with memory of its own.
func (m Marks) normal() Marks {
	parked := slices.Clone(m.Parked)
	slices.Sort(parked)
	parked = slices.Compact(parked)
	m.Parked = nil
	if n := len(parked); n > 0 {
		m.Parked = parked[max(0, n-MaxParked):]
	}
	if !m.Horizon.IsZero() {
		m.Horizon = m.Horizon.Truncate(time.Microsecond).UTC()
	}
	return m
}

// Store keeps the marks of all lanes. Implementations are safe for concurrent use.
type Store interface {
	// Read returns the marks of a lane: the zero value where there are none. The error is ErrInvalid or ErrUnavailable.
	Read(ctx context.Context, key string) (Marks, error)
	// Change has change alter the marks of a lane and stores what it made of them, if that is something else; it returns what
	// the store holds then. change may be called several times, each time with what is stored. Errors as of Read.
	Change(ctx context.Context, key string, change func(*Marks)) (Marks, error)
}

func validName(name string) error {
	if name != "" && len(name) <= maxName && utf8.ValidString(name) {
		return nil
	}
	return fmt.Errorf("%w: a name of %d bytes: give 1-%d, in UTF-8", ErrInvalid, len(name), maxName)
}
