package ingest

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// requestState is the body of a request's state. What does not apply is left out.
type requestState struct {
	ID        string       `json:"id"`
	Key       string       `json:"key"`
	Ticket    int64        `json:"ticket"`
	Status    string       `json:"status"`
	Position  int64        `json:"position,omitempty"`
	Slot      string       `json:"slot,omitempty"`
	Attempts  int64        `json:"attempts"`
	Submitted string       `json:"submitted,omitempty"`
	Started   string       `json:"started,omitempty"`
	Finished  string       `json:"finished,omitempty"`
	Target    string       `json:"target,omitempty"`
	Result    *resultState `json:"result,omitempty"`
	Error     *errorState  `json:"error,omitempty"`
}

// resultState is a stored response. The body is text where it is UTF-8 as it stands.
type resultState struct {
	Status          int    `json:"status"`
	ContentType     string `json:"content_type,omitempty"`
	ContentEncoding string `json:"content_encoding,omitempty"`
	Body            string `json:"body,omitempty"`
	BodyBase64      []byte `json:"body_base64,omitempty"`
	Truncated       bool   `json:"truncated,omitempty"`
}

// errorState says why the last attempt failed.
type errorState struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// found is a request that is known, with the lane as it was then.
type found struct {
	slot.RequestState
	seen   slot.Seen
	status string
}

// request answers the state of one request.
func (c *call) request() error {
	f, err := c.awaited()
	if err != nil {
		return err
	}
	state := c.stateOf(c.id, f)
	response, ok, err := lane.DecodeResponse(f.Response)
	if err != nil {
		return err
	}
	if ok {
		state.Result = describe(response)
	}
	c.about(c.id, f.Ticket, f.status)
	return c.json(http.StatusOK, state)
}

// stateOf is the state of a request but for its result.
func (c *call) stateOf(id string, f found) requestState {
	state := requestState{
		ID: id, Key: c.lane.Slot.Key, Ticket: f.Ticket, Status: f.status, Position: f.Position, Slot: timestamp(f.Slot),
		Attempts: f.Attempts, Submitted: formatTime(f.Submitted), Started: formatTime(f.Started),
		Finished: formatTime(f.Finished), Target: f.Target,
	}
	if f.status != statusDone && f.Reason != "" {
		state.Error = &errorState{Reason: f.Reason, Detail: f.Detail}
	}
	return state
}

// result answers with the target's response.
func (c *call) result() error {
	f, err := c.told(c.id)
	if err != nil {
		return err
	}
	c.about(c.id, f.Ticket, f.status)
	switch {
	case f.status == statusCancelled:
		return cancelled()
	case f.status == statusUnknown:
		return problem.New(problem.NotFinished, "The request ran, nobody knows to what end, and its lane stands. "+
			"Say what became of it: POST "+location(c.lane.Slot.Key, c.id)+"/resolve.").WithRetryAfter(time.Minute)
	case f.status == statusQueued || f.status == statusRunning:
		return problem.New(problem.NotFinished, "The request is "+f.status+". Ask again later.").
			WithRetryAfter(f.seen.Until(f.Slot))
	case len(f.Response) == 0:
		return failure("")
	}
	return c.replay(f.Record)
}

// awaited is told once the request has ended, or the client has waited for as long as it wants to.
func (c *call) awaited() (found, error) {
	patience, err := c.askedPatience()
	switch {
	case err != nil:
		return found{}, err
	case patience == 0:
		return c.told(c.id)
	}
	c.w.Header().Set("Preference-Applied", preferenceWait(patience))
	return c.await(c.id, patience, c.told)
}

// askedPatience is how long the client wants to wait for the end of its request. Who acts before it answers asks first: a call that
// is refused has done nothing.
func (c *call) askedPatience() (time.Duration, error) {
	preferred, err := parsePrefer(c.r.Header.Values("Prefer"))
	if err != nil {
		return 0, malformedHeader(sentence(err), err)
	}
	return preferred.wait()
}

// told finds a request, and tells its end only once that cannot be lost with Redis: another might be told later. Who has ended
// it is about to write that down; a dead letter needs the payload, which nobody has here, so that the request runs until then.
func (c *call) told(id string) (found, error) {
	f, err := c.find(id)
	if err != nil || f.Durable || !c.lane.Policy.Durable {
		return f, err
	}
	ctx := context.WithoutCancel(c.r.Context())
	switch f.Status {
	case slot.Done, slot.Cancelled:
		// Who sent it may send it again, as far as is known here.
		env := taskqueue.Envelope{
			Key: c.lane.Slot.Key, ID: id, IdempotencyKey: id, Incarnation: f.seen.Incarnation, Ticket: f.Ticket, Submitted: f.Submitted,
		}
		if f.Record, err = c.Records.Persist(ctx, c.lane, env, f.Record); err != nil {
			return found{}, unavailable(err)
		}
		f.status = string(f.Status)
	case slot.Dead:
		stored, known, err := c.Records.Lookup(ctx, c.lane.Slot.Key, id)
		if err != nil || !known || stored.Ticket != f.Ticket {
			f.status, f.Finished, f.Response, f.Reason = statusRunning, time.Time{}, nil, ""
			return f, nil //nolint:nilerr // whose record cannot be read is not known to have ended
		}
		f.Record = stored
	}
	return f, nil
}

// lookUp finds the request of the path.
func (c *call) lookUp() (found, error) { return c.find(c.id) }

// find finds a request in Redis and then among the durable records.
func (c *call) find(id string) (found, error) {
	ctx, key := c.r.Context(), c.lane.Slot.Key
	unknown := problem.New(problem.UnknownRequest,
		"This lane knows no request of that id: it was never accepted, or its retention is over. Check key and id.")
	if !idempotency.ValidRequestID(id) {
		return found{}, unknown
	}
	state, request, away := c.Inspector.Inspect(ctx, c.lane.Slot, id)
	if status := statusOf(request); away == nil && status != "" {
		var err error
		request.Record, err = c.whole(ctx, request.Record)
		return found{request, state.Seen, status}, err
	}
	record, known, err := c.Records.Lookup(ctx, key, id)
	switch {
	case err != nil || !known && away != nil:
		return found{}, unavailable(errors.Join(away, err))
	case !known:
		return found{}, unknown
	}
	return found{slot.RequestState{Record: record, Known: true}, state.Seen, string(record.Status)}, nil
}

// statusOf is empty for a request that Redis does not know, or whose place was given up: it was never acknowledged.
func statusOf(r slot.RequestState) string {
	switch r.Status {
	case slot.Done, slot.Dead, slot.Cancelled:
		return string(r.Status)
	}
	switch {
	case r.Open && r.Live:
		return statusRunning
	case r.Unknown:
		return statusUnknown
	case r.Open:
		return statusQueued
	}
	return ""
}

func describe(r lane.Response) *resultState {
	state := &resultState{
		Status: r.Status, ContentType: r.ContentType, ContentEncoding: r.ContentEncoding, Truncated: r.Truncated,
	}
	if r.ContentEncoding == "" && utf8.Valid(r.Body) {
		state.Body = string(r.Body)
	} else {
		state.BodyBase64 = r.Body
	}
	return state
}
