package ingest

import (
	"net/http"
	"unicode/utf8"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
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
	f, err := c.lookUp()
	if err != nil {
		return err
	}
	state := requestState{
		ID: c.id, Key: c.lane.Slot.Key, Ticket: f.Ticket, Status: f.status, Position: f.Position, Slot: timestamp(f.Slot),
		Attempts: f.Attempts, Submitted: formatTime(f.Submitted), Started: formatTime(f.Started),
		Finished: formatTime(f.Finished), Target: f.Target,
	}
	if f.status != statusDone && f.Reason != "" {
		state.Error = &errorState{Reason: f.Reason, Detail: f.Detail}
	}
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

// result answers with the target's response.
func (c *call) result() error {
	f, err := c.lookUp()
	if err != nil {
		return err
	}
	c.about(c.id, f.Ticket, f.status)
	switch {
	case f.status == statusCancelled:
		return problem.New(problem.Cancelled, "The request was cancelled: it has no result.")
	case f.status == statusQueued || f.status == statusRunning:
		return problem.New(problem.NotFinished, "The request is "+f.status+". Ask again later.").
			WithRetryAfter(f.seen.Until(f.Slot))
	case len(f.Response) == 0:
		return failure("")
	}
	return c.replay(f.Record)
}

// lookUp finds the request of the path, in Redis and then among the durable records.
func (c *call) lookUp() (found, error) {
	ctx, key := c.r.Context(), c.lane.Slot.Key
	unknown := problem.New(problem.UnknownRequest,
		"This lane knows no request of that id: it was never accepted, or its retention is over. Check key and id.")
	if !idempotency.ValidRequestID(c.id) {
		return found{}, unknown
	}
	state, request, err := c.Inspector.Inspect(ctx, c.lane.Slot, c.id)
	if err != nil {
		return found{}, unavailable(err)
	}
	if status := statusOf(request); status != "" {
		return found{request, state.Seen, status}, nil
	}
	record, known, err := c.Records.Lookup(ctx, key, c.id)
	if err != nil {
		return found{}, unavailable(err)
	}
	if !known {
		return found{}, unknown
	}
	record.ID = c.id
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
