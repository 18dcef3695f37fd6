package twin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// Options of a Store.
type Options struct {
	// Now is the Redis time in milliseconds. Required.
	Now func() int64
	// Generation is the generation that callers expect. Nil: slot.First.
	Generation func() slot.Generation
	// Restore reads what outlived this Redis of a lane. Nil: a call that wants it fails with ErrRestore, unless its context carries it.
	Restore func(key string) (slot.Marks, error)
	// Guess is the interval of a lane that has learned none. Nil: slot.ColdInterval.
	Guess func(policy string) time.Duration
	// Learned is told the interval of a lane after every call that knows one. Nil: nobody is.
	Learned func(policy string, interval time.Duration)
	// Publish gets the wake-ups: ticket of the lane of key may start from at. Nil: they are lost.
	Publish func(key string, ticket, at int64)
	// Paused are the paused targets. Nil: none.
	Paused func() []string
	// Keep says that nothing expires, for a test whose Redis has another clock.
	Keep bool
	// Without names the rules to leave out.
	Without []Rule
}

// Store is a Redis with lanes, and the scripts. It has the methods of slot.Store and is safe for concurrent use.
type Store struct {
	Options
	without map[Rule]bool

	mu    sync.Mutex
	lanes map[string]*lane
}

// New returns a Store without lanes.
func New(o Options) *Store {
	if o.Generation == nil {
		o.Generation = func() slot.Generation { return slot.Generation(slot.First) }
	}
	if o.Guess == nil {
		o.Guess = func(string) time.Duration { return slot.ColdInterval }
	}
	s := &Store{Options: o, without: map[Rule]bool{}, lanes: map[string]*lane{}}
	for _, r := range o.Without {
		s.without[r] = true
	}
	return s
}

// Caller is what the caller of a script knows, where not all know the same.
type Caller struct {
	Generation slot.Generation
	// Marks are nil where it has not read them.
	Marks *slot.Marks
}

// ErrRestore says that a script wants to know what outlived Redis of its lane, and has changed nothing.
var ErrRestore = errors.New("twin: read the marks of the lane, and call again with them")

type callerKey struct{}

// As returns a context for calls of c.
func As(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, callerKey{}, c) }

// call is one script under way: the state as read, what is to be saved, and the common arguments.
type call struct {
	*lane
	s        scalars // saved by save, lost otherwise
	store    *Store
	key      string
	now      int64
	gen      slot.Generation
	marks    *slot.Marks
	absent   bool
	n, burst int64
	spacing  int64
	lease    int64
	guess    float64
	retain   int64
	holds    bool
	blocked  []string
	publish  []slot.Wakeup
	tickets  []int64 // of publish
	notes    []journal.Entry
}

// begin reads the lane of l. The error is slot.ErrGeneration, as of a Store whose generations do not know the lane's.
func (s *Store) begin(ctx context.Context, op string, l slot.Lane) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("slot %s of lane %q: %w", op, l.Key, err)
	}
	state := s.lanes[l.Key]
	if state == nil {
		state = newLane()
		s.lanes[l.Key] = state
	}
	c := &call{
		lane: state, store: s, key: l.Key, now: s.Now(), gen: s.Generation(), n: int64(l.Concurrency), burst: int64(l.Burst),
		spacing: ms(l.Spacing), lease: ms(l.Lease), guess: float64(ms(s.Guess(l.Policy))), retain: ms(l.Retention),
		holds: l.HoldAmbiguous,
	}
	if s.Paused != nil {
		c.blocked = s.Paused()
	}
	if !s.Keep {
		state.expire(c.now)
	}
	c.s = state.scalars
	c.absent = c.s.format == 0
	c.now = max(c.now, c.s.last)
	if caller, ok := ctx.Value(callerKey{}).(Caller); ok {
		c.gen, c.marks = caller.Generation, caller.Marks
	}
	if !c.absent && c.s.gen > c.gen.Number {
		return nil, fmt.Errorf("slot %s of lane %q: %w", op, l.Key, slot.ErrGeneration)
	}
	if err := c.restore(op); err != nil {
		return nil, fmt.Errorf("slot %s of lane %q: %w", op, l.Key, err)
	}
	if !c.absent && c.s.gen < c.gen.Emptied && !slices.Contains(reads, op) && !c.without(UnnoticedForgotten) {
		state.forget()
		c.s, c.absent, state.j = scalars{}, true, nil
	}
	if !c.absent && c.s.gen < c.gen.Number {
		c.repair(op)
	}
	return c, nil
}

// begins are the verbs that begin the life of a lane, reads those that change none.
var begins, reads = []string{"reserve", "pause", "purge"}, []string{"inspect", "list", "journal"}

// restoring says that a lane which is absent or older may have been lost.
func (c *call) restoring() bool { return c.now < c.gen.RestoreUntil }

// restore gets the marks where the verb needs them.
func (c *call) restore(op string) (err error) {
	old := !c.absent && c.s.gen < c.gen.Number && !slices.Contains(reads, op) || c.absent && slices.Contains(begins, op)
	if !c.restoring() || c.marks != nil || !old || c.without(MarksRestored) {
		return nil
	}
	if c.store.Restore == nil {
		return ErrRestore
	}
	m, err := c.store.Restore(c.key)
	c.marks = &m
	return err
}

// end hands out what the call has published and learned.
func (s *Store) end(c *call, policy string) {
	if s.Learned != nil && c.s.isi > 0 {
		s.Learned(policy, time.Duration(c.s.isi)*time.Microsecond)
	}
	if s.Publish != nil {
		for i, w := range c.publish {
			s.Publish(c.key, c.tickets[i], w.At)
		}
	}
}

// save makes the scalars last.
func (c *call) save() {
	c.s.last = c.now
	c.scalars = c.s
	c.write()
}

func (c *call) without(r Rule) bool { return c.store.without[r] }

// seen is what every answer carries; next says whether it tells the head.
func (c *call) seen(next bool) slot.Seen {
	out := slot.Seen{Now: c.now, Incarnation: c.s.inc, Interval: time.Duration(c.s.isi) * time.Microsecond, Horizon: c.s.horizon, Reach: c.s.reach, Lost: c.s.lost}
	if next {
		out.Next = c.nextHead()
	}
	return out
}

// ms is d in whole milliseconds, rounded up.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
