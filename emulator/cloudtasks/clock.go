package cloudtasks

import (
	"sync"
	"time"
)

// Clock is the time that a [Server] lives in.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, after d; stop keeps a call that has not begun
	// from happening.
	AfterFunc(d time.Duration, f func()) (stop func())
}

type systemClock struct{}

// Now is without the monotonic reading: schedule times, which come from
// clients, are compared with it.
func (systemClock) Now() time.Time { return time.Now().Round(0) }

func (systemClock) AfterFunc(d time.Duration, f func()) func() {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// ManualClock is a [Clock] that stands still until it is told to move, for
// tests. It is safe for concurrent use.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*manualTimer]struct{}
}

type manualTimer struct {
	at time.Time
	f  func()
}

// NewManualClock makes a clock that shows start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, timers: map[*manualTimer]struct{}{}}
}

// Now returns the instant that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]; f is called by Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{at: c.now.Add(d), f: f}
	c.timers[t] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// Advance moves the clock forward by d, stopping at every timer on the way to
// run it. A server whose clock it is starts and cancels attempts at their own
// instants meanwhile; answers of targets count for the instant that the clock
// shows when they come. See [Server.Settle].
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for {
		t := c.pop(end)
		if t == nil {
			return
		}
		t.f()
	}
}

// pop moves to the first timer up to end and takes it, or moves to end.
func (c *ManualClock) pop(end time.Time) *manualTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *manualTimer
	for t := range c.timers {
		if !t.at.After(end) && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	if first == nil {
		c.now = end
		return nil
	}
	delete(c.timers, first)
	if first.at.After(c.now) {
		c.now = first.at
	}
	return first
}
