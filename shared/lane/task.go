package lane

import (
	"context"
	"errors"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Queue creates tasks.
type Queue interface {
	Create(ctx context.Context, t taskqueue.Task) (created bool, err error)
}

// Kicks are the scripts that leaving a kick takes.
type Kicks interface {
	Kick(ctx context.Context, lane slot.Lane, incarnation, at int64, owner string) (seq, when int64, err error)
}

// Tasks creates the tasks of lanes. It is safe for concurrent use.
type Tasks struct {
	Queue Queue
	Kicks Kicks
	// Marks are told how late tasks come. Nil: nobody is.
	Marks  *Marks
	Clock  clock.Clock
	Random clock.Random
}

// Create creates the task of the envelope's ticket and snooze count for the Redis instant at, which v dates. A task that is there
// already is success: the name contains incarnation and request id. Errors are those of the Queue.
func (t Tasks) Create(ctx context.Context, l Lane, e taskqueue.Envelope, v View, at int64) error {
	e.V, e.Kind = taskqueue.Version, taskqueue.KindRequest
	_, err := t.Queue.Create(ctx, taskqueue.Task{
		ID: taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, e.K), At: v.Local(at), DispatchDeadline: l.DispatchDeadline(), Envelope: e,
	})
	if err == nil {
		t.Marks.await(ctx, l, v, at)
	}
	return err
}

// Kick leaves a kick for the Redis instant at, unless one that comes early enough is under way. When it fails the lane waits
// for its next task: a kick is never needed for safety.
func (t Tasks) Kick(ctx context.Context, l Lane, v View, at int64) error {
	seq, when, err := t.Kicks.Kick(ctx, l.Slot, v.Incarnation, at, t.Random.Nonce())
	if err != nil || seq == 0 {
		return err
	}
	_, err = t.Queue.Create(ctx, taskqueue.Task{
		ID: taskqueue.KickTaskID(l.Slot.Key, v.Incarnation, seq), At: v.Local(when), DispatchDeadline: l.DispatchDeadline(),
		Envelope: taskqueue.Envelope{
			V: taskqueue.Version, Kind: taskqueue.KindKick, Key: l.Slot.Key, Incarnation: v.Incarnation, Seq: seq,
			Submitted: t.Clock.Now(),
		},
	})
	return err
}

// Bodies reads tasks.
type Bodies interface {
	Get(ctx context.Context, id string) (taskqueue.Envelope, error)
}

// Fetch gets the head's body from its task. It asks under the head's latest snooze count, the one before (a snooze may have been
// recorded whose task is not there yet), and the latest again (it may have come meanwhile); after a loss of Redis also the next:
// a snooze may have been forgotten whose task is there. Errors are those of
// [taskqueue.Client.Get]; ErrNotFound then means all of them.
func Fetch(ctx context.Context, queue Bodies, key string, s slot.Seen) (env taskqueue.Envelope, err error) {
	h := s.Next
	counts := []int{h.K, h.K - 1, h.K}
	if h.K == 0 {
		counts = counts[:1]
	}
	if s.Lost > 0 {
		counts = append(counts, h.K+1)
	}
	for _, k := range counts {
		env, err = queue.Get(ctx, taskqueue.RequestTaskID(key, s.Incarnation, h.Ticket, h.Request, k))
		if !errors.Is(err, taskqueue.ErrNotFound) {
			return env, err
		}
	}
	return env, err
}

// View is an answer of the scripts with the instant, by our clock, at which it arrived. The answer is taken to be as old as
// nothing then, so that instants derived from it err late, by at most a round trip.
type View struct {
	slot.Seen
	Received time.Time
}

// Local is the Redis instant at (milliseconds) by our clock.
func (v View) Local(at int64) time.Time { return v.Received.Add(v.Until(at)) }

// Attended says that nobody need do anything for the head: there is none, nothing may start, somebody waits with it, or its own
// task comes in time.
func Attended(l Lane, s slot.Seen) bool {
	return s.Next.Ticket == 0 || s.Next.At == 0 || s.Next.Here || InTime(l, s)
}

// InTime says that the head's own task is due soon enough that nobody else need run it: not before now, and at most a
// tolerance after the instant from which it may start.
func InTime(l Lane, s slot.Seen) bool {
	tolerance := (50*time.Millisecond + max(l.Slot.Spacing, s.Interval)/20).Milliseconds()
	return s.Next.Due >= s.Now && s.Next.Due <= max(s.Next.At, s.Now)+tolerance
}
