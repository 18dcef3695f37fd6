package journal

// grant checks a start against all that the entries before it tell, and keeps it.
func (r *replay) grant(e Entry) {
	known := r.tickets[e.Ticket] != nil
	t := r.of(e)
	r.allowed(e, t)
	r.fenced(e, t)
	r.exclusive(e, t)
	r.ordered(e, known && t.phase != unsure)
	r.paced(e, t)
	r.counts(e, t)
	t.phase, t.fence, t.until, t.attempt, t.before = running, e.Fence, e.LeaseUntil, e.Attempt, 0
	r.fence, r.highest = e.Fence, max(r.highest, e.Ticket)
}

// allowed checks what holds the lane or the ticket, whoever's turn it is.
func (r *replay) allowed(e Entry, t *ticket) {
	switch {
	case t.phase == resolved || t.phase == voided:
		r.violated(Effect, "ticket %d starts again, and has ended", e.Ticket)
	case t.attempt >= 0 && e.Attempt != t.attempt+1:
		r.violated(Whole, "attempt %d of ticket %d after %d", e.Attempt, e.Ticket, t.attempt)
	case r.paused:
		r.violated(Held, "ticket %d starts on a paused lane", e.Ticket)
	case t.phase == parked:
		r.violated(Stand, "ticket %d starts, and the lane stands on it", e.Ticket)
	case e.At < r.quarantine:
		r.violated(Quarantine, "ticket %d starts at %d, and nothing starts before %d", e.Ticket, e.At, r.quarantine)
	case e.At < r.reach && e.Ticket >= r.began:
		r.violated(Quarantine, "ticket %d starts at %d, and tasks of before may come until %d", e.Ticket, e.At, r.reach)
	}
}

func (r *replay) fenced(e Entry, t *ticket) {
	switch {
	case e.Fence <= r.fence || e.Fence <= t.fence:
		r.violated(Exclusion, "fence %d after %d", e.Fence, max(r.fence, t.fence))
	case r.fence != 0 && e.Fence != r.fence+1:
		r.violated(Whole, "fence %d after %d: a grant is missing", e.Fence, r.fence)
	case e.LeaseUntil <= e.At:
		r.violated(Exclusion, "the lease of fence %d ends at %d, before it began at %d", e.Fence, e.LeaseUntil, e.At)
	}
}

// leases counts the other tickets whose lease lives, and those whose lease does so only if it was renewed.
func (r *replay) leases(e Entry) (lives, lapsed int64) {
	for n, t := range r.tickets {
		switch {
		case n == e.Ticket:
		case t.lives(e.At):
			lives++
		case t.lapsed(e.At):
			lapsed++
		}
	}
	return lives, lapsed
}

func (r *replay) exclusive(e Entry, t *ticket) {
	lives, lapsed := r.leases(e)
	switch {
	case t.lives(e.At):
		r.violated(Exclusion, "ticket %d starts while its lease of fence %d lives until %d", e.Ticket, t.fence, t.until)
	case e.Live >= e.Concurrency || lives >= e.Concurrency:
		r.violated(Exclusion, "ticket %d starts beside %d live leases, of %d at most", e.Ticket, max(e.Live, lives), e.Concurrency)
	case e.Live < lives, r.whole && e.Live > lives+lapsed+r.unsure():
		r.violated(Whole, "it counts %d live leases; the entries show %d, and %d that may have been renewed", e.Live, lives, lapsed)
	}
}

// unsure counts the tickets that may run or not.
func (r *replay) unsure() (n int64) {
	for _, t := range r.tickets {
		if t.phase == unsure {
			n++
		}
	}
	return n
}

// ordered checks that every lower ticket is resolved or live-leased.
func (r *replay) ordered(e Entry, known bool) {
	lives, _ := r.leases(e)
	renewed := e.Live - lives // at most so many of the lapsed leases were renewed
	for _, n := range r.sorted() {
		switch t := r.tickets[n]; {
		case n >= e.Ticket:
		case t.waits():
			r.violated(Order, "ticket %d starts before %d, which waits", e.Ticket, n)
		case t.lapsed(e.At):
			if renewed--; renewed < 0 {
				r.violated(Order, "ticket %d starts before %d, whose lease lapsed at %d", e.Ticket, n, t.until)
			}
		}
	}
	if !known && e.Attempt == 1 && e.Ticket < r.highest {
		r.violated(Order, "ticket %d starts for the first time after %d, and was in the lane before it", e.Ticket, r.highest)
	}
}

// paced is GCRA as the scripts do it, with the policy in force at this grant, and what a failure asked for.
func (r *replay) paced(e Entry, t *ticket) {
	spacing := Instant(e.SpacingMS)
	arrival := r.tat
	if r.granted != 0 {
		arrival = min(max(r.tat, r.granted+spacing), r.granted+Instant(e.Burst)*spacing)
	}
	gate := arrival - Instant(e.Burst-1)*spacing
	switch {
	case e.At < gate:
		r.violated(Pace, "ticket %d starts at %d, and the pace allows none before %d", e.Ticket, e.At, gate)
	case e.At < t.before:
		r.violated(Pace, "ticket %d starts at %d, and its failure asked to wait until %d", e.Ticket, e.At, t.before)
	case e.At < r.hold:
		r.violated(Pace, "ticket %d starts at %d, and the failure of a head holds the lane until %d", e.Ticket, e.At, r.hold)
	}
	r.tat, r.granted = max(arrival, e.At)+spacing, e.At
}
