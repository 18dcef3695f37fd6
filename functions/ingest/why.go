package ingest

import (
	"fmt"
	"net/url"

	"github.com/seriatim/seriatim/shared/lanekey"
	"github.com/seriatim/seriatim/shared/slot"
)

// The words of why.reason.
const (
	whyIdle          = "idle"
	whyRunning       = "running"
	whyPace          = "pace"
	whyRetry         = "retry"
	whyTargetMissing = "target-missing"
	whyOverdue       = "overdue"
	whyUnconfirmed   = "unconfirmed"
	whyQuarantine    = "quarantine"
)

// why says what the head of a lane waits for.
type why struct {
	Reason string `json:"reason"`
	// Ticket is the head, 0 where none waits.
	Ticket int64 `json:"ticket,omitempty"`
	// Until is when the reason ends by itself.
	Until  string `json:"until,omitempty"`
	Detail string `json:"detail"`
	// Clear is the call that would end it sooner.
	Clear string `json:"clear,omitempty"`
}

// explain finds the reason that holds longest against the others: what stops the whole lane, then what stops its head. failed
// is the record of a head that waits for another attempt.
func explain(key string, s slot.State, failed slot.Record) why {
	w := why{Ticket: s.Next.Ticket}
	lane := "/v1/lanes/" + lanekey.Escape(key)
	switch {
	case s.QuarantineUntil > s.Now:
		w.Reason, w.Until = whyQuarantine, timestamp(s.QuarantineUntil)
		w.Detail = "Redis was lost: nothing starts before every lease of before has run out, and nothing new before what was accepted " +
			"earlier has had time to come back."
	case s.Paused:
		w.Reason, w.Detail, w.Clear = string(slot.StandsPaused), "The lane was paused.", "POST "+lane+"/resume"
	case s.Stands != "":
		w.standing(s, lane)
	case s.Depth == 0:
		w.Reason, w.Detail = whyIdle, "No request waits or runs."
	case s.Next.Ticket == 0 || s.Full:
		w.Reason, w.Detail = whyRunning, fmt.Sprintf("As many requests run as the lane has, or its policy allows: %d.", len(s.Running))
	default:
		w.explainHead(s, failed)
	}
	return w
}

// standing is for a lane that stands on its head.
func (w *why) standing(s slot.State, lane string) {
	w.Reason = string(s.Stands)
	switch s.Stands {
	case slot.StandsParked:
		w.Detail = "The head has failed for good, and the policy stops the lane there. Redrive runs it again, skip gives it up."
		w.Clear = "POST " + lane + "/dead-letters/" + s.Next.Request + "/redrive"
	case slot.StandsUnknown:
		w.Detail = "The head ran, nobody knows to what end, and the policy does not run it again by itself. Say what became of it."
		w.Clear = "POST " + lane + "/requests/" + s.Next.Request + "/resolve"
	case slot.StandsTargetPaused:
		w.Detail = fmt.Sprintf("The target %q of the head was paused.", s.HeadTarget)
		w.Clear = "POST /v1/targets/" + url.PathEscape(s.HeadTarget) + "/resume"
	}
}

// explainHead is for a lane with a free place.
func (w *why) explainHead(s slot.State, failed slot.Record) {
	switch {
	case s.HeadNotBefore > s.Now && failed.Reason == "target-missing":
		w.Reason, w.Until = whyTargetMissing, timestamp(s.HeadNotBefore)
		w.Detail = fmt.Sprintf("The target %q is not configured. Add it, or a Go function of that name; the head is tried again then.", failed.Target)
	case s.HeadNotBefore > s.Now:
		w.Reason, w.Until = whyRetry, timestamp(s.HeadNotBefore)
		w.Detail = fmt.Sprintf("Attempt %d of the head failed (%s).", s.HeadAttempts, failed.Reason)
	case s.Hold > s.Now:
		w.Reason, w.Until = whyRetry, timestamp(s.Hold)
		w.Detail = "The request before was given up after a failure that may concern this one too."
	case s.Gate > s.Now:
		w.Reason, w.Until, w.Detail = whyPace, timestamp(s.Gate), "The policy's spacing."
	case s.Next.Unconfirmed():
		w.Reason, w.Until = whyUnconfirmed, timestamp(s.Next.Deadline)
		w.Detail = "It is not certain yet that the head has a task; after that instant the place of one without is given up."
	case s.Missing == s.Next.Ticket:
		w.Reason, w.Detail = whyOverdue, "The queue says that the head has no task. If it says so again, the place is given up."
	default:
		w.Reason, w.Detail = whyOverdue, "The head may start. Its executor has not come yet."
		if s.Next.Due > s.Now {
			w.Until = timestamp(s.Next.Due)
		}
	}
}
