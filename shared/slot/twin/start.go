package twin

import (
	"context"
	"math"

	"github.com/seriatim/seriatim/shared/slot"
)

// start is one START under way: x is the ticket that is to run.
type start struct {
	*call
	req  slot.StartRequest
	left int64
	x    int64
	e    *entry
	r    *record
}

// Start is slot.Store.Start.
func (s *Store) Start(ctx context.Context, l slot.Lane, req slot.StartRequest) (slot.Started, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.begin(ctx, "start", l)
	if err != nil {
		return slot.Started{}, err
	}
	st := &start{call: c, req: req, left: req.Left.Milliseconds()}
	if req.Left < 0 {
		st.left = -1
	}
	out := st.run()
	s.end(c, l.Policy)
	return out, nil
}

// finally saves and answers with the head.
func (s *start) finally(out slot.Started) slot.Started {
	s.save()
	out.Seen = s.seen(true)
	return out
}

func (s *start) run() slot.Started {
	if s.absent {
		return slot.Started{Seen: s.seen(false), Verdict: slot.UnknownTicket}
	}
	if s.req.Kick > 0 && s.req.Drive == 0 {
		if s.s.kickset == 1 && s.s.kickseq == s.req.Kick {
			s.s.kickset = 0
		}
		return s.finally(slot.Started{Verdict: slot.Wait, Reason: "kick"})
	}
	if out, over := s.find(); over {
		return out
	}
	if s.e.p != 0 && !s.without(StartConfirms) {
		s.e.p = 0
	}
	if s.s.miss == s.x {
		s.s.miss = 0
	}
	return s.decide()
}

// find sets x, or answers when there is nothing to start.
func (s *start) find() (out slot.Started, over bool) {
	if s.req.Drive != 0 {
		s.x, s.e, s.r = s.req.Drive, s.open(s.req.Drive), s.records[s.req.DriveRequest]
		if s.e == nil || s.e.r != s.req.DriveRequest {
			return s.finally(slot.Started{Verdict: slot.Gone}), true
		}
		return slot.Started{}, false
	}
	t := s.req.Ticket
	s.x, s.r = t, s.records[s.req.Request]
	if s.r.terminal() && !(s.r.status == string(slot.Cancelled) && s.r.ticket < t) {
		return s.finally(slot.Started{Verdict: slot.AlreadyDone, Status: slot.Status(s.r.status), Durable: s.r.durable == "1"}), true
	}
	same := s.req.Incarnation == s.s.inc
	if same {
		s.e = s.open(t)
	}
	if s.e != nil && s.e.r == s.req.Request {
		return slot.Started{}, false
	}
	known := s.r != nil && s.r.status != ""
	if same && (!s.v[t] || s.without(VoidedIsUnknown)) {
		if t < s.s.mark && (!known || s.r.ticket == t) {
			delete(s.q, t)
			if known {
				s.call.finished(s.r, s.req.Request, t, slot.Cancelled)
			}
			return s.finally(slot.Started{Verdict: slot.AlreadyDone, Status: slot.Cancelled}), true
		}
		unadopted := t < s.s.inc && len(s.s.gaps) > 0
		if t < s.s.u && s.gapOf(t) == 0 && !known && !unadopted {
			return s.finally(slot.Started{Verdict: slot.AlreadyDone, Status: slot.Expired, Durable: true}), true
		}
	}
	s.save()
	return slot.Started{Seen: s.seen(false), Verdict: slot.UnknownTicket}, true
}

func (s *start) decide() slot.Started {
	var until int64
	var reason string
	driven := s.req.Drive != 0
	if s.live(s.x) {
		switch {
		case s.e.owner == s.req.Owner || s.without(OwnerOfDelivery):
			return s.granted()
		case driven:
			return s.finally(slot.Started{Verdict: slot.Gone})
		case s.left <= 0:
			return s.snooze(s.now+min(max(s.now-s.e.started, 5000), 600000), "busy")
		}
		until, reason = s.l[s.x], "busy"
	}
	if reason == "" && s.expired(s.x, s.e, s.e.r) {
		return s.finally(slot.Started{Verdict: slot.AlreadyDone, Status: slot.Dead, Reason: slot.ReasonDeadline})
	}
	h, he := s.head()
	standing, free := s.stands(h, he), s.free(h, he)
	if reason == "" && (s.x == h || s.without(HeadFirst)) && free && s.now >= s.runAt(s.x, s.e) {
		if s.r == nil {
			s.r = s.call.record(s.e.r)
		}
		s.grant(s.x, s.e, s.req.Owner, s.r)
		if s.n > 1 {
			s.wake()
		}
		return s.granted()
	}
	if driven {
		return s.finally(slot.Started{Verdict: slot.Gone})
	}
	overdue := s.overdue(h, he, free)
	before := s.rank(s.x)
	if reason == "" {
		if standing != "" {
			return s.snooze(s.standingUntil(s.req.K, s.req.Jitter), string(standing))
		}
		est := s.slot(before, s.x)
		step := max(float64(s.spacing), s.interval(), 1)
		most := float64(s.n) + min(math.Floor(float64(ms(slot.InlineWait))/step), 32)
		if !overdue && (s.left <= 0 || est-s.now > s.left || float64(before) >= most) {
			return s.snooze(max(s.backstop(s.x, before, true), s.now+1000<<s.doublings(before)), "rank")
		}
		switch {
		case !free:
			until, _ = s.firstExpiry()
			reason = "full"
		case s.x == h:
			until, reason = s.runAt(s.x, s.e), "pace"
		default:
			until, reason = est, "rank"
		}
		if s.e.deadline > 0 && s.e.first == 0 {
			until = min(until, s.e.deadline+1)
		}
	}
	if s.left > 0 {
		s.e.here = s.now + s.left + 1000
	}
	return s.finally(slot.Started{Verdict: slot.Wait, Until: until, Rank: before, Reason: reason, Overdue: overdue})
}

// doublings lengthen the least snooze of a ticket that has company: the head's executor drives on to it.
func (s *start) doublings(before int64) int {
	if before == 0 {
		return 0
	}
	return min(s.req.K, 8)
}

func (s *start) granted() slot.Started {
	return s.finally(slot.Started{Verdict: slot.Run, Grant: s.grantOf(s.x, s.e, s.req.Owner), K: int(s.e.k)})
}

func (s *start) snooze(at int64, reason string) slot.Started {
	if s.e.deadline > 0 && s.e.first == 0 {
		at = min(at, max(s.e.deadline+1, s.now+1000))
	}
	k := max(s.e.k, int64(s.req.K)+1)
	if !s.without(SnoozeCounts) {
		s.e.k, s.e.due = k, at
	}
	s.e.here = 0
	s.extendForTask()
	if s.r != nil {
		s.r.end = s.s.end
	}
	return s.finally(slot.Started{Verdict: slot.Snoozed, At: at, K: int(k), Reason: reason})
}

// overdue claims the head for this waiter, when it is runnable and neither here nor on its way.
func (s *start) overdue(h int64, he *entry, free bool) bool {
	if h == 0 || h == s.x || he == nil || !free || s.left < 0 {
		return false
	}
	at := s.runAt(h, he)
	soon := he.due >= s.now && float64(he.due) <= float64(s.now)+50+0.05*max(float64(s.spacing), s.interval())
	if s.now < at+grace && (he.here > s.now || soon || s.now < at+away) {
		return false
	}
	if s.s.claim == h && s.s.claimend > s.now && s.s.claimby != s.req.Owner && !s.without(OneClaim) {
		return false
	}
	s.s.claim, s.s.claimend, s.s.claimby = h, s.now+claimFor, s.req.Owner
	return true
}
