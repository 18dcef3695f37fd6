package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// errCut is what a Redis out of reach answers.
var errCut = errors.New("connection cut")

// point is a moment of a call: before it is sent, or after it took effect and before its reply is there.
type point int

const (
	before point = iota
	after
)

// slots are the real scripts. At each point of each call the test may fail it, look, or panic, which is how an instance dies.
type slots struct {
	*slot.Store
	on atomic.Pointer[func(verb string, at point) error]
	// reserved is the last reservation.
	reserved atomic.Pointer[slot.Reservation]
}

// at sets what happens at the points of calls from now on.
func (s *slots) at(f func(verb string, at point) error) { s.on.Store(&f) }

// cut makes the verb fail at that point, once.
func (s *slots) cut(verb string, where point) {
	var once sync.Once
	s.at(func(v string, at point) (err error) {
		if v == verb && at == where {
			once.Do(func() { err = errCut })
		}
		return err
	})
}

func around[T any](s *slots, verb string, call func() (T, error)) (T, error) {
	var none T
	on := s.on.Load()
	if on == nil {
		return call()
	}
	if err := (*on)(verb, before); err != nil {
		return none, err
	}
	v, err := call()
	if lost := (*on)(verb, after); lost != nil {
		return none, lost
	}
	return v, err
}

func (s *slots) Reserve(ctx context.Context, l slot.Lane, r slot.ReserveRequest) (slot.Reservation, error) {
	return around(s, "reserve", func() (slot.Reservation, error) {
		reservation, err := s.Store.Reserve(ctx, l, r)
		s.reserved.Store(&reservation)
		return reservation, err
	})
}

func (s *slots) Confirm(ctx context.Context, l slot.Lane, id string, ticket, inc int64) (bool, error) {
	return around(s, "confirm", func() (bool, error) { return s.Store.Confirm(ctx, l, id, ticket, inc) })
}

func (s *slots) Void(ctx context.Context, l slot.Lane, id string, ticket int64, atOnce bool) (slot.Looked, error) {
	return around(s, "void", func() (slot.Looked, error) { return s.Store.Void(ctx, l, id, ticket, atOnce) })
}

func (s *slots) Finish(ctx context.Context, l slot.Lane, r slot.FinishRequest) (slot.Finished, error) {
	return around(s, "finish", func() (slot.Finished, error) { return s.Store.Finish(ctx, l, r) })
}

func (s *slots) Ending(ctx context.Context, l slot.Lane, r slot.FinishRequest) (slot.Ending, error) {
	return around(s, "ending", func() (slot.Ending, error) { return s.Store.Ending(ctx, l, r) })
}

func (s *slots) Inspect(ctx context.Context, l slot.Lane, id string) (slot.State, slot.RequestState, error) {
	type both struct {
		slot.State
		slot.RequestState
	}
	v, err := around(s, "inspect", func() (both, error) {
		state, request, err := s.Store.Inspect(ctx, l, id)
		return both{state, request}, err
	})
	return v.State, v.RequestState, err
}

// queue is a Cloud Tasks queue that can be told how its next calls end.
type queue struct {
	mu    sync.Mutex
	tasks map[string]taskqueue.Task
	calls int
	// create, where set, decides about a call; exist makes the task exist.
	create func(t taskqueue.Task, exist func()) error
}

func (q *queue) Create(_ context.Context, t taskqueue.Task) (bool, error) {
	q.mu.Lock()
	q.calls++
	create := q.create
	_, known := q.tasks[t.ID]
	q.mu.Unlock()
	exist := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.tasks == nil {
			q.tasks = map[string]taskqueue.Task{}
		}
		if _, known := q.tasks[t.ID]; !known {
			q.tasks[t.ID] = t
		}
	}
	if create != nil {
		return false, create(t, exist)
	}
	exist()
	return !known, nil
}

// Get reads a task.
func (q *queue) Get(_ context.Context, id string) (taskqueue.Envelope, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t, ok := q.tasks[id]; ok {
		return t.Envelope, nil
	}
	return taskqueue.Envelope{}, taskqueue.ErrNotFound
}

// after has f told of every request's task once it exists.
func (q *queue) after(f func(taskqueue.Envelope)) {
	q.set(func(t taskqueue.Task, exist func()) error {
		exist()
		if t.Envelope.Kind == taskqueue.KindRequest {
			f(t.Envelope)
		}
		return nil
	})
}

// set decides about the calls from now on; nil: all go well.
func (q *queue) set(create func(t taskqueue.Task, exist func()) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.create = create
}

func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls
}

func (q *queue) of(kind taskqueue.Kind) []taskqueue.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []taskqueue.Task
	for _, t := range q.tasks {
		if t.Envelope.Kind == kind {
			list = append(list, t)
		}
	}
	return list
}

// task returns the task of a ticket, if there is one.
func (q *queue) task(ticket int64, k int) (taskqueue.Task, bool) {
	for _, t := range q.of(taskqueue.KindRequest) {
		if t.Envelope.Ticket == ticket && t.Envelope.K == k {
			return t, true
		}
	}
	return taskqueue.Task{}, false
}

// How a call of the queue can end badly.
func refused(taskqueue.Task, func()) error {
	return fmt.Errorf("no permission: %w", taskqueue.ErrRefused)
}
func vanished(taskqueue.Task, func()) error {
	return fmt.Errorf("deadline exceeded: %w", taskqueue.ErrAmbiguous)
}
func lostReply(_ taskqueue.Task, exist func()) error {
	exist()
	return fmt.Errorf("unavailable: %w", taskqueue.ErrAmbiguous)
}

// die ends an instance at once: nothing that comes after it happens, not even an answer.
func die() { panic(http.ErrAbortHandler) }

// dying runs f and says whether the instance died in it.
func dying(t *testing.T, f func()) (died bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			died = true
		}
	}()
	f()
	return false
}
