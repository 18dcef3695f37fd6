package ingest

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/slot"
)

const (
	// maxWait is the longest that Prefer: wait holds an answer.
	maxWait = 60 * time.Second
	// waitPoll is how often one that waits looks, should the message be lost.
	waitPoll = 2 * time.Second
)

// Ends brings the message that a request has ended.
type Ends interface {
	ListenEnd(key, requestID string) *slot.Listener
}

// wait reads the preference wait: how long the client wants to wait for the end of its request, in seconds, at most maxWait.
func (p preferences) wait() (time.Duration, error) {
	text, ok := p["wait"]
	if !ok {
		return 0, nil
	}
	seconds, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 32)
	if err != nil {
		return 0, malformedHeader("Prefer: wait takes whole seconds, such as wait=10.", err)
	}
	return min(time.Duration(seconds)*time.Second, maxWait), nil
}

// await looks until the request id has ended, the client's patience or the client is gone, or the instance goes. The last look
// tells which: nobody needs the reason.
func (c *call) await(id string, patience time.Duration, look func(id string) (found, error)) (found, error) {
	ctx, stop := clock.WithTimeout(c.r.Context(), c.Clock, patience, context.DeadlineExceeded)
	defer stop()
	// Listen first, then look: an end between the two is not missed.
	l := c.Ends.ListenEnd(c.lane.Slot.Key, id)
	defer l.Close()
	for {
		f, err := look(id)
		if err != nil || f.status != statusQueued && f.status != statusRunning {
			return f, err
		}
		poll, quit := c.Clock.After(time.Duration(float64(waitPoll) * c.Random.Jitter(0.2)))
		select {
		case <-l.C:
		case <-poll:
		case <-c.Drain.Closed():
			stop()
		case <-ctx.Done():
		}
		quit()
		if ctx.Err() != nil {
			return look(id)
		}
	}
}

// ended answers a submission whose request came to its end while the client waited: with what the target said, as an
// immediate run does.
func (s *submitting) ended(f found) error {
	if f.status == statusCancelled {
		s.about(s.envelope.ID, f.Ticket, f.status)
		return cancelled()
	}
	rec, err := s.Records.Persist(context.WithoutCancel(s.r.Context()), s.lane, s.at(f.seen.Incarnation, f.Ticket), f.Record)
	switch {
	case err != nil:
		return outcomeUnknown(err)
	case s.duplicate:
		return s.replay(rec)
	}
	s.about(s.envelope.ID, rec.Ticket, string(rec.Status))
	return s.stored(rec)
}
