// Package executor is the HTTP function that Cloud Tasks calls. A delivery runs its own ticket when it is its turn, and drives
// the lane: it runs the head, whoever's task it is, while the head is runnable and nobody is there for it.
//
// What Cloud Tasks is answered: 200 after a run, for a terminal record, or once a successor task is durable, and on a durable
// lane not before the record is, or a flush task for it; 409 when one of these could not be created, after a lost lease of the own ticket, for a wrong MAC and for an envelope newer than the
// code; 503 only when Redis is out of reach. Another 429, 503 or 5xx would make Cloud Tasks slow the whole queue, all keys.
package executor

import (
	"context"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Slots are the scripts that the executor calls itself; attempts and kicks call theirs through package lane.
type Slots interface {
	Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error)
	Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error)
}

// Holes are the scripts about tickets whose task the queue does not have.
type Holes interface {
	VoidHead(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error)
	Missing(ctx context.Context, l slot.Lane, h slot.Head) (slot.Looked, error)
	Settle(ctx context.Context, l slot.Lane, h slot.Head, status slot.Status) (slot.Looked, error)
}

// Queue reads tasks.
type Queue interface {
	Get(ctx context.Context, id string) (taskqueue.Envelope, error)
	State(ctx context.Context) (taskqueue.QueueState, error)
}

// Opener verifies and decodes an envelope.
type Opener interface {
	Open(body []byte, mac string) (taskqueue.Envelope, error)
}

// Records are the durable records, beside those in Redis.
type Records interface {
	// Lookup returns the terminal record of a request; found is false where there is none.
	Lookup(ctx context.Context, key, requestID string) (record slot.Record, found bool, err error)
	// Persist makes the record of e's request durable, where the lane is, or a task that will. After an error it is in Redis alone.
	Persist(ctx context.Context, l lane.Lane, e taskqueue.Envelope, r slot.Record) (held slot.Record, err error)
	// Flush does what such a task carries.
	Flush(ctx context.Context, l lane.Lane, e taskqueue.Envelope) error
	// Free lets Redis keep less of what the durable store has decided.
	Free(ctx context.Context, l lane.Lane, e taskqueue.Envelope, g slot.Grant)
}

// Wakes brings wake-ups to waiters.
type Wakes interface {
	Listen(key string, ticket int64) *slot.Listener
}

// Inspector reads lanes.
type Inspector interface {
	Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error)
}

// Config is what an Executor works with. All fields are required.
type Config struct {
	Policy    *policy.Document
	Slots     Slots
	Holes     Holes
	Inspector Inspector
	Queue     Queue
	Opener    Opener
	Records   Records
	Wakes     Wakes
	Runner    *lane.Runner
	Tasks     lane.Tasks
	// Lanes returns the keys of lanes to sweep, a bounded number that goes on from call to call.
	Lanes func(ctx context.Context) ([]string, error)
	// CountMissing counts one missing head and says whether voiding may go on.
	CountMissing func(ctx context.Context) (bool, error)
	// Exchange shares what has been learned about a policy's intervals.
	Exchange func(ctx context.Context, policy string) error
	// Observe is told of each drive and snooze, for counts; it must be quick.
	Observe func(Event)
	Drain   *shutdown.Drain
	Clock   clock.Clock
	Random  clock.Random
}

// Event is something the executor did that costs: counted, not logged.
type Event string

// Events.
const (
	// Drove: ran another's ticket.
	Drove Event = "drive"
	// Snoozed: created the successor of a task that came too early.
	Snoozed Event = "snooze"
)

// Executor answers deliveries. It is safe for concurrent use.
type Executor struct{ Config }

// New returns an Executor.
func New(c Config) *Executor { return &Executor{Config: c} }
