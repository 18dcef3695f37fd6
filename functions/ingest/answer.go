package ingest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/lanekey"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

// The words of Seriatim-Status, and of "status" in states.
const (
	statusQueued    = "queued"
	statusRunning   = "running"
	statusDone      = "done"
	statusDead      = "dead"
	statusCancelled = "cancelled"
	statusUnknown   = "unknown"
)

// acceptance is the body of a 202. Position and Slot are left out while the request runs.
type acceptance struct {
	ID       string `json:"id"`
	Key      string `json:"key"`
	Ticket   int64  `json:"ticket"`
	Status   string `json:"status"`
	Position int64  `json:"position,omitempty"`
	Slot     string `json:"slot,omitempty"`
}

// about says in headers which request the answer is about, and how that stands.
func (c *call) about(id string, ticket int64, status string) {
	h := c.w.Header()
	h.Set("Seriatim-Request-Id", id)
	h.Set("Seriatim-Ticket", strconv.FormatInt(ticket, 10))
	h.Set("Seriatim-Status", status)
}

func (c *call) json(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // it fails only when the client has gone
	return nil
}

// pass answers with a target's response.
func (c *call) pass(r lane.Response) error {
	h := c.w.Header()
	h["Content-Type"] = nil // where the target gave none, none is guessed
	if r.ContentType != "" {
		h.Set("Content-Type", r.ContentType)
	}
	if r.ContentEncoding != "" {
		h.Set("Content-Encoding", r.ContentEncoding)
	}
	if r.Truncated {
		h.Set("Seriatim-Truncated", "true")
	}
	c.w.WriteHeader(r.Status)
	_, _ = c.w.Write(r.Body) // it fails only when the client has gone, or the status has no body
	return nil
}

// replay answers with a terminal record.
func (c *call) replay(rec slot.Record) error {
	c.about(rec.ID, rec.Ticket, string(rec.Status))
	c.w.Header().Set("Idempotent-Replayed", "true")
	return c.stored(rec)
}

// stored answers with what a terminal record has of the target's response.
func (c *call) stored(rec slot.Record) error {
	if rec.Status == slot.Cancelled {
		return cancelled()
	}
	response, ok, err := lane.DecodeResponse(rec.Response)
	switch {
	case err != nil:
		return fmt.Errorf("answer from the record of request %s: %w", rec.ID, err)
	case !ok:
		return failure(rec.Reason)
	}
	return c.pass(response)
}

// failure is for a request that ended without a response to pass on.
func failure(reason string) error {
	if reason == target.ReasonTimeout {
		return problem.New(problem.TargetTimeout, "The target did not answer in time, and the request was given up.")
	}
	return problem.New(problem.TargetFailed, "The target gave no answer that could be passed on, and the request was given up.").
		With("reason", reason)
}

func cancelled() error {
	return problem.New(problem.Cancelled, "The request was cancelled: it has no result.")
}

// full answers 409 for a deadline, else 429, and says of which limit (draft-ietf-httpapi-ratelimit-headers-10).
func (c *call) full(r slot.Reservation) error {
	if r.Reason == "deadline" {
		return problem.New(problem.DeadlineUnreachable, "The request could start at "+timestamp(r.Slot)+
			" at the earliest, after its Seriatim-Deadline. Send it with a later one, or none.").With("slot", timestamp(r.Slot))
	}
	limit, detail := int64(c.lane.Slot.MaxDepth), "As many requests wait in this lane as its policy allows."
	if r.Reason == "horizon" {
		limit = int64(slot.Horizon / max(c.lane.Slot.Spacing, r.Interval, time.Millisecond))
		detail = "So many requests wait in this lane that the next one could not start within 29 days."
	}
	wait, _ := strconv.ParseInt(wholeSeconds(r.RetryAfter), 10, 64)
	policy, state := httpsfv.NewItem(r.Reason), httpsfv.NewItem(r.Reason)
	policy.Params.Add("q", limit)
	policy.Params.Add("qu", "concurrent-requests")
	state.Params.Add("r", int64(0))
	state.Params.Add("t", wait)
	for name, item := range map[string]httpsfv.Item{"RateLimit-Policy": policy, "RateLimit": state} {
		value, err := httpsfv.Marshal(httpsfv.List{item})
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		c.w.Header().Set(name, value)
	}
	return problem.New(problem.LaneFull, detail+" Send the request again later.").
		With("depth", r.Depth).WithRetryAfter(time.Duration(wait) * time.Second)
}

// location is the path of a request's state.
func location(key, id string) string { return "/v1/lanes/" + lanekey.Escape(key) + "/requests/" + id }

// timestamp writes a Redis instant as API.md wants it; 0 is "".
func timestamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return formatTime(time.UnixMilli(ms))
}

// formatTime is RFC 3339 in UTC with milliseconds; the zero time is "".
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// wholeSeconds is d for Retry-After: rounded up, at least 1.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
