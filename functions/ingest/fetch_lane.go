package ingest

import (
	"context"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
)

const (
	// longestAfterLane bounds how long a read waits for a lane.
	longestAfterLane = 60 * time.Second
	// firstLook and lastLook bound the pause between two looks at the lane, which doubles.
	firstLook, lastLook = 20 * time.Millisecond, 500 * time.Millisecond
)

// stamp says in which state of the lane the read begins, if it is tied to one; with Prefer: after-lane, only when everything
// has finished that was submitted to the lane before. An answer fetched under an equal stamp lacks no request that has
// finished by now.
func (r *reading) stamp() (string, error) {
	wait, applied, err := r.afterLane()
	switch {
	case err != nil:
		return "", err
	case applied && !r.tied:
		return "", malformedHeader("The preference after-lane needs a lane: name its key in the query, as lane=KEY.", nil)
	case !r.tied:
		return "", nil
	}
	ctx := r.r.Context()
	s, _, err := r.Inspector.Inspect(ctx, r.lane.Slot, "")
	if err != nil {
		return "", unavailable(err)
	}
	if applied {
		if s, err = r.finished(ctx, s, wait); err != nil {
			return "", err
		}
		r.w.Header().Set("Preference-Applied", "after-lane")
	}
	return stampOf(r.lane.Slot, s), nil
}

// stampOf is equal for two states of a lane only if no request was resolved between them. Of a lane that is absent, nothing is
// known but that nothing was resolved within the retention of its records, which a lane always outlives: so answers are shared
// among those who read in the same span of that length. Where the spans begin depends on the key, lest all end at once.
func stampOf(l slot.Lane, s slot.State) string {
	if !s.Absent {
		return fmt.Sprintf("%q %d %d", l.Key, s.Incarnation, s.Resolved)
	}
	span := max(l.Retention.Milliseconds(), 1)
	return fmt.Sprintf("%q absent %d", l.Key, (s.Now+int64(crc32.ChecksumIEEE([]byte(l.Key))))/span)
}

// afterLane reads the preferences after-lane and wait.
func (r *reading) afterLane() (wait time.Duration, applied bool, err error) {
	preferred, err := parsePrefer(r.r.Header.Values("Prefer"))
	if err != nil {
		return 0, false, malformedHeader(sentence(err), err)
	}
	wait = longestAfterLane
	if preferred.has("wait") {
		n, err := strconv.ParseUint(strings.Trim(preferred["wait"], `"`), 10, 31)
		if err != nil {
			return 0, false, malformedHeader("The preference wait is a whole number of seconds, such as wait=10.", err)
		}
		wait = min(wait, time.Duration(n)*time.Second)
	}
	return wait, preferred.has("after-lane"), nil
}

// finished returns the lane's state once all tickets that had been given out in state s are resolved. It looks again and
// again: no message tells of the end of one ticket, and only who asks for it pays.
func (r *reading) finished(ctx context.Context, s slot.State, wait time.Duration) (slot.State, error) {
	first, began, pause := s, r.Clock.Now(), firstLook
	for s.Incarnation == first.Incarnation && lowest(s) < first.NextTicket {
		left := wait - r.Clock.Now().Sub(began)
		if left <= 0 {
			return s, problem.New(problem.NotFinished,
				"Requests that were submitted to the lane before have not finished. Ask again later, or without after-lane.").
				WithRetryAfter(lastLook)
		}
		fired, stop := r.Clock.After(min(pause, left))
		select {
		case <-fired:
		case <-r.Drain.Closed():
			stop()
			return s, problem.New(problem.Unavailable, "This instance is shutting down. Send the request again.")
		case <-ctx.Done():
			stop()
			return s, context.Cause(ctx)
		}
		pause = min(2*pause, lastLook)
		var err error
		if s, _, err = r.Inspector.Inspect(ctx, r.lane.Slot, ""); err != nil {
			return s, unavailable(err)
		}
	}
	return s, nil
}

// lowest is the lowest ticket that is not resolved, or the next one. Where not all that run are listed nobody knows: 0.
func lowest(s slot.State) int64 {
	ticket := s.NextTicket
	if s.Next.Ticket != 0 {
		ticket = s.Next.Ticket
	}
	if len(s.Running) >= slot.RunningListed {
		return 0
	}
	for _, running := range s.Running {
		ticket = min(ticket, running.Ticket)
	}
	return ticket
}
