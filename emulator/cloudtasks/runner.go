package cloudtasks

import (
	"context"
	"sync"
	"time"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// runner drives an engine in real or manual time: one timer for its next
// event, one goroutine for each attempt in flight and none for what waits.
type runner struct {
	clock  Clock
	sender *sender

	mu       sync.Mutex
	engine   *engine.Engine
	stop     func() // the timer
	armed    time.Time
	inFlight map[*engine.Attempt]context.CancelFunc
	settled  []chan struct{} // closed when nothing is in flight
	closed   bool

	sending sync.WaitGroup
}

func newRunner(e *engine.Engine, clock Clock, s *sender) *runner {
	return &runner{clock: clock, sender: s, engine: e, stop: func() {}, inFlight: map[*engine.Attempt]context.CancelFunc{}}
}

// do lets f use the engine, then does what has fallen due.
func (r *runner) do(f func(e *engine.Engine, now time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	f(r.engine, now)
	if !r.closed {
		r.step(now)
	}
	if len(r.inFlight) == 0 {
		r.release()
	}
}

// call is do for a function with a result.
func call[T any](r *runner, f func(e *engine.Engine, now time.Time) (T, error)) (result T, err error) {
	r.do(func(e *engine.Engine, now time.Time) { result, err = f(e, now) })
	return result, err
}

// step starts and cancels attempts and sets the timer; r.mu is held.
func (r *runner) step(now time.Time) {
	step := r.engine.Advance(now)
	for _, a := range step.Start {
		ctx, cancel := context.WithCancel(context.Background())
		r.inFlight[a] = cancel
		r.sending.Go(func() { r.send(ctx, a) })
	}
	for _, a := range step.Cancel {
		r.inFlight[a]()
	}
	r.arm(now)
}

// arm sets the timer for the engine's next event, unless it is set already.
func (r *runner) arm(now time.Time) {
	next, ok := r.engine.Next()
	if !ok {
		next = time.Time{}
	}
	if next.Equal(r.armed) {
		return
	}
	r.stop()
	r.stop, r.armed = func() {}, next
	if ok {
		r.stop = r.clock.AfterFunc(next.Sub(now), r.wake)
	}
}

func (r *runner) wake() {
	r.do(func(*engine.Engine, time.Time) { r.armed = time.Time{} })
}

func (r *runner) send(ctx context.Context, a *engine.Attempt) {
	result := r.sender.send(ctx, a.Request, r.clock.Now)
	r.do(func(e *engine.Engine, now time.Time) {
		r.inFlight[a]()
		delete(r.inFlight, a)
		if !r.closed {
			e.Finish(now, a, result)
		}
	})
}

// release wakes those who wait for quiet; r.mu is held.
func (r *runner) release() {
	for _, c := range r.settled {
		close(c)
	}
	r.settled = nil
}

// settle returns when what is due has been started and no attempt is in flight.
func (r *runner) settle(ctx context.Context) error {
	quiet := make(chan struct{})
	r.do(func(*engine.Engine, time.Time) { r.settled = append(r.settled, quiet) })
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close cancels all attempts and waits until they have ended.
func (r *runner) close() {
	r.mu.Lock()
	r.closed = true
	r.stop()
	for _, cancel := range r.inFlight {
		cancel()
	}
	r.mu.Unlock()
	r.sending.Wait()
}
