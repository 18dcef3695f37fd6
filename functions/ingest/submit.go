package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// reserveTries is how often a submission whose place was given up takes a new one, the first included.
const reserveTries = 4

// kickWait bounds what a kick may cost a client that waits for an answer which is ready.
const kickWait = 3 * time.Second

// errAnew says that the place is gone: reserve anew.
var errAnew = errors.New("the place in the lane was given up")

// submitting is one submission under way.
type submitting struct {
	*call
	submission
	// owner is the nonce of this HTTP request: with it reserve tells a resend from a duplicate.
	owner string
	// duplicate says that the request was there before this call.
	duplicate bool
	// letter is the dead letter that is to run again, nil for a client's own submission; quiet leaves the answer to the caller.
	letter *record.Record
	quiet  bool
	// unsure says that the confirm deadline of the ticket that reserve answers may have been set long before.
	unsure bool
}

// place is a ticket that is to become durable.
type place struct {
	lane.View
	ticket int64
	// k and due name the task to create.
	k   int
	due int64
	// slot and position are told to the client while the request waits, as status says.
	slot, position int64
	status         string
	// own says that no other call has reserved the ticket: it may be given up at once.
	own bool
	// armed is an instant before the ticket's confirm deadline was set, by our clock; zero where it is unknown.
	armed time.Time
}

func (c *call) submit() error {
	read, err := c.read()
	if err != nil {
		return err
	}
	// From here on the client may leave: what it asked for is under way.
	ctx := context.WithoutCancel(c.r.Context())
	s := &submitting{call: c, submission: read, owner: c.Random.Nonce()}
	return s.take(ctx)
}

// take gets the request a place that lasts, or runs it, and answers.
func (s *submitting) take(ctx context.Context) (err error) {
	for try := range reserveTries {
		switch err = s.reserve(ctx); {
		case errors.Is(err, errAnew):
			s.immediate = false // it has run, or has a task: from here on it is the queue's
		case try > 0 && (errors.Is(err, problem.Unavailable) || errors.Is(err, problem.LaneFull)):
			return outcomeUnknown(err) // for the same reason
		default:
			return err
		}
	}
	return outcomeUnknown(fmt.Errorf("%d times: %w", reserveTries, err))
}

func (s *submitting) reserve(ctx context.Context) error {
	e := s.envelope
	sent := s.Clock.Now()
	r, err := s.Slots.Reserve(ctx, s.lane.Slot, slot.ReserveRequest{
		ID: e.ID, Fingerprint: e.Fingerprint, Owner: s.owner, Immediate: s.immediate, Submitted: e.Submitted, Target: e.Target,
		Deadline: e.Deadline, Adopt: s.letter != nil, Redrive: s.letter != nil,
	})
	switch {
	case err != nil && s.letter != nil:
		return unavailable(err)
	case err != nil:
		return s.withoutRedis(ctx, err)
	case s.letter != nil && (r.Verdict == slot.Replayed || r.Verdict == slot.Mismatch):
		return noDeadLetter()
	}
	switch r.Verdict {
	case slot.Replayed:
		return s.replayed(ctx, r)
	case slot.Mismatch:
		return keyReused()
	case slot.Full:
		return s.full(r)
	case slot.Run, slot.Reserved, slot.Duplicate:
		if ended, answer := s.endedBefore(ctx, r); ended {
			return answer
		}
		if r.Verdict == slot.Run {
			return s.run(ctx, r, sent)
		}
		return s.queue(ctx, r, sent)
	}
	return fmt.Errorf("reserve answered %q: %w", r.Verdict, slot.ErrReply)
}

// queue makes a reservation durable, unless it is a duplicate of one that is.
func (s *submitting) queue(ctx context.Context, r slot.Reservation, sent time.Time) error {
	s.duplicate = r.Verdict == slot.Duplicate
	p := place{
		View: s.view(r.Seen), ticket: r.Ticket, due: r.Due, slot: r.Slot, position: r.Position, status: statusQueued,
		own: r.Verdict == slot.Reserved && !r.Unknown, // what may have run is nobody's to give up
	}
	switch {
	case r.Leased:
		p.status = statusRunning
	case r.Unknown:
		p.status = statusUnknown
	}
	if p.own && !s.unsure {
		p.armed = sent
	}
	if r.Confirmed {
		return s.accepted(p)
	}
	if err := s.Exchange(ctx, s.lane.Policy.Name); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "exchanging intervals failed", logging.Error, err.Error())
	}
	return s.makeDurable(ctx, p)
}

// makeDurable creates the task of p and acknowledges it when nobody can give its place up any more. The error is errAnew when
// somebody has.
func (s *submitting) makeDurable(ctx context.Context, p place) error {
	e := s.at(p.Incarnation, p.ticket)
	e.K = p.k
	if err := s.Tasks.Create(ctx, s.lane, e, p.View, p.due); err != nil {
		return s.notCreated(ctx, p, err)
	}
	if !p.armed.IsZero() && s.Clock.Now().Sub(p.armed) < slot.ConfirmWithin-slot.ConfirmMargin {
		return s.accepted(p)
	}
	stands, err := s.Slots.Confirm(ctx, s.lane.Slot, e.ID, p.ticket, p.Incarnation)
	switch {
	case err != nil:
		return outcomeUnknown(err)
	case !stands:
		return errAnew
	}
	return s.accepted(p)
}

// notCreated answers for a task that the queue did not confirm. An own ticket that certainly has none is given up, so that
// the lane need not find the hole; a duplicate's is its first caller's, who may yet succeed.
func (s *submitting) notCreated(ctx context.Context, p place, err error) error {
	if !errors.Is(err, taskqueue.ErrRefused) || p.status == statusUnknown {
		return outcomeUnknown(err)
	}
	if p.own {
		gone, voidErr := s.Slots.Void(ctx, s.lane.Slot, s.envelope.ID, p.ticket, true)
		if voidErr != nil {
			err = errors.Join(err, voidErr)
		} else {
			s.passOn(ctx, s.view(gone.Seen))
		}
	}
	return problem.New(problem.Unavailable, "The queue does not take tasks. Send the request again.").WithCause(err)
}

// passOn leaves a kick for the head, where nobody will be there for it in time. It is never needed for safety.
func (s *submitting) passOn(ctx context.Context, v lane.View) {
	if lane.Attended(s.lane, v.Seen) {
		return
	}
	ctx, stop := clock.WithTimeout(ctx, s.Clock, kickWait, context.DeadlineExceeded)
	defer stop()
	if err := s.Tasks.Kick(ctx, s.lane, v, v.Next.At); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "leaving a kick failed", logging.Error, err.Error())
	}
}

func (s *submitting) view(seen slot.Seen) lane.View {
	return lane.View{Seen: seen, Received: s.Clock.Now()}
}

// at returns the envelope of a ticket.
func (s *submitting) at(incarnation, ticket int64) taskqueue.Envelope {
	e := s.envelope
	e.Incarnation, e.Ticket = incarnation, ticket
	return e
}

// accepted answers for a request that will run: with its end, where the client waits for that and it comes, else 202.
func (s *submitting) accepted(p place) error {
	ctx := s.r.Context()
	logging.FromContext(ctx).InfoContext(ctx, "request accepted", logging.Ticket, p.ticket, logging.Request, s.envelope.ID,
		"status", p.status, "position", p.position, "duplicate", s.duplicate)
	if s.quiet {
		return nil
	}
	if s.patience > 0 {
		f, err := s.await(s.envelope.ID, s.patience, s.find)
		switch {
		case err != nil: // it is accepted, whatever became of looking after it
			logging.FromContext(s.r.Context()).WarnContext(s.r.Context(), "waiting for the end of a request failed", logging.Error, err.Error())
		case f.status == statusDone || f.status == statusDead || f.status == statusCancelled:
			s.w.Header().Set("Preference-Applied", preferenceWait(s.patience))
			return s.ended(f)
		default:
			p.ticket, p.status, p.position, p.slot = f.Ticket, f.status, f.Position, f.Slot
		}
	}
	told := acceptance{ID: s.envelope.ID, Key: s.envelope.Key, Ticket: p.ticket, Status: p.status}
	if p.status == statusQueued {
		told.Position, told.Slot = p.position, timestamp(p.slot)
	}
	h := s.w.Header()
	h.Set("Location", location(s.envelope.Key, s.envelope.ID))
	h.Set("Retry-After", wholeSeconds(p.Until(p.slot)))
	if applied := s.applied(); applied != "" {
		h.Set("Preference-Applied", applied)
	}
	s.about(s.envelope.ID, p.ticket, p.status)
	return s.json(http.StatusAccepted, told)
}

// applied is the value of Preference-Applied of a 202.
func (s *submitting) applied() string {
	var list []string
	if s.async {
		list = append(list, "respond-async")
	}
	if s.patience > 0 {
		list = append(list, preferenceWait(s.patience))
	}
	return strings.Join(list, ", ")
}

func preferenceWait(patience time.Duration) string { return "wait=" + wholeSeconds(patience) }
