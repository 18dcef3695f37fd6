package slottest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
)

// World is a lane with clients, ingest, executors and a queue around it, who do anything that they may do, in any order, and
// who crash, pause, lose answers and repeat themselves. Chance is the caller's: pick(n) is a number below n.
//
// It is a model for tests of the scripts, one step at a time; it has no code of the functions in it.
type World struct {
	// Requests bounds the distinct request ids. Few make what happens to one of them happen together.
	Requests int
	// Faults switches on calls that are lost on the way, whose answers are lost, and that come late or again.
	Faults bool
	// Losses switches on tasks that the queue loses.
	Losses bool
	// Steering switches on pauses, cancels and purges.
	Steering bool

	ctx    context.Context
	store  *slot.Store
	clock  *Clock
	lane   slot.Lane
	pick   func(n int) int
	oracle *Oracle
	queue  queue
	nonce  int
	state  slot.State // as last looked at

	reserved []reservation // ingest has a ticket and no task yet
	runs     []run         // handlers at work, zombies included
	waiters  []slot.StartRequest
	voids    []func() error // given up for missing, not yet told
	ghosts   []func()       // calls that may still execute, or execute again
}

type reservation struct {
	Task
	sent      int64 // before reserve was sent
	duplicate bool
}

type run struct {
	slot.FinishRequest
	task Task // of the delivery, where Own
}

// errLost says that a caller got no answer.
var errLost = errors.New("no answer")

// NewWorld returns a World whose lane, at lane.Key, does not exist yet.
func NewWorld(ctx context.Context, store *slot.Store, clock *Clock, lane slot.Lane, pick func(n int) int) *World {
	return &World{
		Requests: 2 + pick(5), ctx: ctx, store: store, clock: clock, lane: lane, pick: pick, oracle: NewOracle(lane),
		queue: queue{names: map[Task]bool{}},
	}
}

// chance is true once in n times.
func (w *World) chance(n int) bool { return w.pick(n) == 0 }

func (w *World) owner() string {
	w.nonce++
	return fmt.Sprintf("o%d", w.nonce)
}

// call sends a script. see shows every answer to the oracle, also one that reaches no caller: a call may never arrive, arrive
// late, lose its answer, and arrive again later.
func call[T any](w *World, do func() (T, error), see func(T)) (T, error) {
	execute := func() (T, error) {
		answer, err := do()
		if err != nil {
			w.oracle.broken("error", "%v", err)
		} else {
			see(answer)
		}
		return answer, err
	}
	if !w.Faults {
		return execute()
	}
	ghost := func() { _, _ = execute() }
	var none T
	switch w.pick(20) {
	case 0:
		w.ghosts = append(w.ghosts, ghost)
		return none, errLost
	case 1:
		ghost()
		return none, errLost
	case 2:
		w.ghosts = append(w.ghosts, ghost)
	}
	return execute()
}

// Step lets something happen and returns the first invariant that was broken so far.
func (w *World) Step() error {
	steps := []func() error{
		w.submit, w.submit, w.create, w.create, w.deliver, w.deliver, w.deliver, w.wait, w.drive, w.finish, w.finish, w.renew,
		w.tick, w.tick, w.crash, w.land, w.void, w.ghost, w.lose, w.kick, w.steer,
	}
	if err := steps[w.pick(len(steps))](); err != nil && !errors.Is(err, errLost) {
		return err
	}
	w.oracle.Tasks(w.queue.has)
	return w.oracle.Err()
}

// take removes one of the list by chance.
func take[T any](w *World, list *[]T) (one T, ok bool) {
	if len(*list) == 0 {
		return one, false
	}
	i := w.pick(len(*list))
	one = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return one, true
}

func (w *World) tick() error {
	durations := []time.Duration{time.Millisecond, 60 * time.Millisecond, time.Second, w.lane.Spacing, w.lane.Lease, 31 * time.Second}
	w.clock.Advance(durations[w.pick(len(durations))])
	return nil
}

// crash ends a handler, or a waiter, without a word.
func (w *World) crash() error {
	if w.chance(2) {
		take(w, &w.runs)
	} else {
		take(w, &w.waiters)
	}
	return nil
}

func (w *World) land() error {
	if n := len(w.queue.landing); n > 0 {
		w.queue.land(w.pick(n))
	}
	return nil
}

func (w *World) void() error {
	if do, ok := take(w, &w.voids); ok {
		return do()
	}
	return nil
}

func (w *World) ghost() error {
	if do, ok := take(w, &w.ghosts); ok {
		do()
	}
	return nil
}

// lose takes a task away, as an operator's purge of the queue does.
func (w *World) lose() error {
	if n := len(w.queue.tasks); w.Losses && n > 0 && w.chance(4) {
		t := w.queue.tasks[w.pick(n)]
		w.queue.remove(t)
		w.oracle.Loses(t.Request)
	}
	return nil
}

func (w *World) kick() error {
	_, err := call(w, func() (int64, error) {
		seq, _, err := w.store.Kick(w.ctx, w.lane, w.state.Incarnation, w.clock.Now(), w.owner())
		return seq, err
	}, func(int64) {})
	return err
}

// Verify replays the lane's journal. The error is the first broken invariant.
func (w *World) Verify() error {
	entries, err := w.store.Journal(w.ctx, w.lane)
	if err != nil {
		return err
	}
	if broken := journal.Verify(entries); broken != nil {
		return broken
	}
	return nil
}

// Drain lets everybody do their duty, without faults, until what was acknowledged has ended. It fails when the lane stands.
func (w *World) Drain() error {
	w.Faults, w.Losses, w.Steering = false, false, false
	w.runs, w.waiters, w.reserved, w.voids, w.ghosts = nil, nil, nil, nil, nil
	if err := w.pause(false); err != nil {
		return err
	}
	for round := 0; w.oracle.Waiting() > 0; round++ {
		if round == 400 {
			return fmt.Errorf("I6 progress: %d acknowledged requests still wait: lane %+v, tasks %+v", w.oracle.Waiting(), w.state, w.queue.tasks)
		}
		if err := w.unstand(); err != nil {
			return err
		}
		w.clock.Advance(w.lane.Spacing + time.Second)
		for _, t := range slices.Clone(w.queue.tasks) {
			if err := w.start(t, w.owner(), -time.Second); err != nil {
				return err
			}
		}
		for len(w.runs) > 0 {
			r, _ := take(w, &w.runs)
			if err := w.end(r, slot.Accept); err != nil {
				return err
			}
		}
		if err := w.drive(); err != nil {
			return err
		}
		for len(w.voids) > 0 {
			if err := w.void(); err != nil {
				return err
			}
		}
		if err := w.oracle.Err(); err != nil {
			return err
		}
	}
	return w.oracle.Err()
}
