package slot

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Standing says why a head may not start however long it waits.
type Standing string

// Reasons to stand, by precedence. The empty one: it does not stand.
const (
	// StandsPaused: an operator holds the lane.
	StandsPaused Standing = "paused"
	// StandsParked: the head was given up on, and waits for redrive or skip.
	StandsParked Standing = "parked"
	// StandsUnknown: the head's lease was lost, and somebody has to say what became of it.
	StandsUnknown Standing = "unknown"
	// StandsTargetPaused: an operator holds the head's target.
	StandsTargetPaused Standing = "target-paused"
)

// Running is a request with a live lease.
type Running struct {
	Ticket  int64
	Request string
	// Started is the grant.
	Started time.Time
}

// State is a lane as Inspect saw it. An unknown lane is an empty one: Absent is true and the rest zero.
type State struct {
	Seen
	Absent bool
	// Depth counts unresolved requests; Waiting those that hold no live lease.
	Depth, Waiting int64
	// Running lists live leases, at most RunningListed.
	Running []Running
	// Gate is when pace allows the next start, QuarantineUntil and Hold when a lost Redis or a failed head do; all Redis
	// milliseconds, in the past or 0 where nothing holds.
	Gate, QuarantineUntil, Hold int64
	// HeadRun is the instant from which the head may start, in the past where it already may; HeadNotBefore what its own failure
	// demands; HeadAttempts its grants so far.
	HeadRun, HeadNotBefore, HeadAttempts int64
	// Last is the slot of the last waiting request, in Redis milliseconds; 0 where none waits.
	Last int64
	// Paused says that the lane is held; Stands why its head may not start however long it waits; HeadTarget is that head's.
	Paused     bool
	Stands     Standing
	HeadTarget string
	// Resolved counts the requests that this life of the lane has resolved.
	Resolved int64
	// NextTicket is what the next arrival gets: all that has been reserved lies below it; 0 in an absent lane.
	NextTicket int64
	// Missing is the ticket whose task the queue denied last.
	Missing int64
	// Full says that concurrency is used up.
	Full bool
}

// RequestState is one request as Inspect saw it.
type RequestState struct {
	Record
	// Known is false when Redis has no record.
	Known bool
	// Open says that the ticket is in the lane; Live that it runs now.
	Open, Live bool
	// Parked says that the lane stands on it; Unknown that its lease was lost and somebody has to say what became of it.
	Parked, Unknown bool
	// Position is the waiting requests before it + 1, Slot its earliest start; set while it waits.
	Position, Slot int64
}

// RunningListed bounds State.Running.
const RunningListed = 100

// Inspect reads a lane and, unless requestID is empty, one of its requests. It changes nothing and takes constant work. See
// Reserve for errors.
func (s *Store) Inspect(ctx context.Context, lane Lane, requestID string) (State, RequestState, error) {
	r, err := s.run(ctx, inspectScript, lane, KeysOf(lane.Key).record(requestID), requestID, RunningListed)
	if err != nil {
		return State{}, RequestState{}, err
	}
	state := State{
		Seen: r.seen(), Absent: r.bool("absent"), Depth: r.int("depth"), Waiting: r.int("waiting"), Running: r.running(),
		Gate: r.int("gate"), QuarantineUntil: r.int("quarantine"), Hold: r.int("hold"), HeadRun: r.int("headrun"),
		HeadNotBefore: r.int("headnb"), HeadAttempts: r.int("headatt"), Last: r.int("last"), Paused: r.bool("paused"),
		Stands: Standing(r.fields["stands"]), HeadTarget: r.fields["headtarget"], Resolved: r.int("resolved"), NextTicket: r.int("nxt"), Missing: r.int("miss"),
		Full: r.int("runningcount") >= int64(lane.Concurrency),
	}
	req := RequestState{Record: r.record(requestID), Open: r.bool("open"), Live: r.bool("live")}
	req.Known = req.Status != ""
	if req.Open {
		req.Attempts, req.Parked, req.Unknown = r.int("attempts"), r.bool("parked"), r.bool("unknown")
	}
	if req.Open && !req.Live {
		req.Position, req.Slot = r.int("rank")+1, r.int("slot")
	}
	return state, req, r.err
}

func (r *reply) running() []Running {
	words := strings.Fields(r.fields["running"])
	list := make([]Running, 0, len(words)/3)
	for i := 0; i+2 < len(words); i += 3 {
		ticket, _ := strconv.ParseInt(words[i], 10, 64)
		started, _ := strconv.ParseInt(words[i+2], 10, 64)
		list = append(list, Running{Ticket: ticket, Request: words[i+1], Started: time.UnixMilli(started).UTC()})
	}
	return list
}
