// Package ingest is the HTTP function that clients call: it takes requests into their lanes and tells what became of them
// (API.md, section 1).
//
// What a submission keeps to, in every order of faults:
//
//  1. A request is acknowledged (202) only when its task is durable and its place cannot be given up any more: by the age of
//     an own reservation, counted from before reserve was first sent, else by confirm. The age of another caller's
//     reservation is unknown, so a duplicate always needs confirm.
//  2. A place is given up at once only where the queue certainly took no task. Where nobody knows, the answer is
//     outcome-unknown, and the place is left for those who look.
//  3. What has begun is ended: a client that disconnects cancels nothing.
//  4. How a request of a durable lane ended is told when it is durable, or a task is that will make it so; else the answer is
//     outcome-unknown.
//  5. Ingest never drives a lane. Where a run of its own leaves a head that nobody will be there for, it leaves a kick.
package ingest

import (
	"context"
	"net/http"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Slots are the scripts by which a request gets its place in a lane; attempts and kicks call theirs through package lane.
type Slots interface {
	Reserve(ctx context.Context, l slot.Lane, req slot.ReserveRequest) (slot.Reservation, error)
	Confirm(ctx context.Context, l slot.Lane, requestID string, ticket, incarnation int64) (bool, error)
	GiveUp(ctx context.Context, l slot.Lane, requestID string, ticket, fence int64) (slot.Looked, error)
	Void(ctx context.Context, l slot.Lane, requestID string, ticket int64, atOnce bool) (slot.Looked, error)
}

// Inspector reads lanes.
type Inspector interface {
	Inspect(ctx context.Context, l slot.Lane, requestID string) (slot.State, slot.RequestState, error)
	List(ctx context.Context, l slot.Lane, req slot.ListRequest) (slot.Listed, error)
	Journal(ctx context.Context, l slot.Lane) ([]journal.Entry, error)
}

// Records are the durable records, beside those in Redis.
type Records interface {
	// Lookup returns the terminal record of a request; found is false where there is none.
	Lookup(ctx context.Context, key, requestID string) (record slot.Record, found bool, err error)
	// Ended returns durable records behind a ticket in ticket order; upto is the ticket behind which the list goes on, 0: nowhere.
	Ended(ctx context.Context, l lane.Lane, status record.Status, size int, after int64) (ended []record.Record, upto int64, err error)
	// DeadLetters returns a page of dead records, the last finished first.
	DeadLetters(ctx context.Context, l lane.Lane, size int, token string) (record.Page, error)
	// DeadLetter returns a dead record with its payload; EachDeadLetter calls do with all of a lane, in ticket order, until do
	// fails; RemoveDeadLetter forgets one.
	DeadLetter(ctx context.Context, l lane.Lane, requestID string) (r record.Record, found bool, err error)
	EachDeadLetter(ctx context.Context, l lane.Lane, do func(record.Record) error) error
	RemoveDeadLetter(ctx context.Context, l lane.Lane, r record.Record) error
	// Persist makes the record of e's request durable, where the lane is, or a task that will, and returns how the request ended
	// for good. After an error the record is in Redis alone.
	Persist(ctx context.Context, l lane.Lane, e taskqueue.Envelope, r slot.Record) (held slot.Record, err error)
	// Decide has the durable store decide that a request ends as r says, without a run, where the policy leaves that to the store,
	// and returns what it holds; of other lanes r.
	Decide(ctx context.Context, l lane.Lane, e taskqueue.Envelope, r slot.Record) (held slot.Record, err error)
	// Free lets Redis keep less of what the durable store has decided.
	Free(ctx context.Context, l lane.Lane, e taskqueue.Envelope, g slot.Grant)
}

// Config is what a Handler works with. All fields are required, but for Reads where the policy has no origins, and those of Health.
type Config struct {
	Policy    *policy.Document
	Slots     Slots
	Inspector Inspector
	Steering  Steering
	Records   Records
	Runner    *lane.Runner
	Tasks     lane.Tasks
	Bodies    lane.Bodies
	Reads     Reads
	// Exchange shares what has been learned about a policy's intervals.
	Exchange func(ctx context.Context, policy string) error
	// Caller tells the e-mail address of who calls. Nil: nobody is asked, and the callers policy binds nobody.
	Caller func(h http.Header, now time.Time) (string, error)
	// PausedTargets are the targets against which nothing starts.
	PausedTargets *slot.PausedTargets
	Ends          Ends
	Health        Health
	Drain         *shutdown.Drain
	Clock         clock.Clock
	Random        clock.Random
}

// Handler answers the calls of clients. Its logger is that of the request's context. It is safe for concurrent use.
type Handler struct {
	Config
	health *monitor
}

// New returns a Handler.
func New(c Config) *Handler {
	return &Handler{Config: c, health: newMonitor(c.Health, c.Clock)}
}
