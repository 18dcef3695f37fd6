package slot

import "context"

// Ending is how an attempt would end if it were finished now.
type Ending struct {
	// Verdict is OK, Lost, or AlreadyDone where Finish has the end already.
	Verdict Verdict
	// Outcome is set for OK: Accept and GiveUp end the request, Retry and Parked do not.
	Outcome Outcome
	// Record is set where the request would end: what Finish would make of it, with Finished now.
	Record Record
}

// Ending says how Finish would end the attempt, and renews a live lease, so that there is time to have the end decided elsewhere
// first. It ends nothing. K, Own, RetryAfter and Jitter of req are not looked at. See Reserve for errors.
func (s *Store) Ending(ctx context.Context, lane Lane, req FinishRequest) (Ending, error) {
	r, err := s.run(ctx, endingScript, lane, KeysOf(lane.Key).record(req.Request),
		req.Grant.Ticket, req.Request, req.Grant.Fence, string(req.Outcome), req.Reason, lane.Attempts, ms(lane.MaxAge),
		bit(req.Counts), bit(lane.Park))
	if err != nil {
		return Ending{}, err
	}
	out := Ending{Verdict: r.verdict, Outcome: Outcome(r.fields["status"])}
	if out.Ends() {
		out.Record = r.record(req.Request)
		out.Record.end(out.Outcome, r.fields["reason"], req)
		out.Record.Finished = r.time("now")
	}
	return out, r.err
}

// Ends says whether the request would end.
func (e Ending) Ends() bool { return e.Verdict == OK && (e.Outcome == Accept || e.Outcome == GiveUp) }

// end makes r what it is once req has ended it.
func (r *Record) end(outcome Outcome, reason string, req FinishRequest) {
	r.Status, r.Reason, r.Detail, r.Response, r.Durable = Status(outcome), reason, req.Detail, req.Response, false
}
