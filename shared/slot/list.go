package slot

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// ListRequest asks for a part of a lane's requests.
type ListRequest struct {
	// After is the ticket behind which the part begins, 0 for the start.
	After int64
	// Size is how many at most, at least 1.
	Size int
	// Only asks for those that are queued, running, unknown, done, dead or cancelled. Empty: all.
	Only string
}

// Listed is a part of a lane's requests.
type Listed struct {
	Seen
	// Requests are in ticket order, without responses.
	Requests []RequestState
	// Upto is the ticket behind which the next part begins, 0 where there is none.
	Upto int64
}

// List reads open requests, and ended ones whose record is in Redis alone; purged ones only once their task has come. It changes
// nothing; its work grows with Size, not with the lane. See Reserve for errors.
func (s *Store) List(ctx context.Context, lane Lane, req ListRequest) (Listed, error) {
	r, err := s.run(ctx, listScript, lane, nil, req.After, req.Size, req.Only)
	if err != nil {
		return Listed{}, err
	}
	out := Listed{Seen: r.seen(), Requests: r.listed(), Upto: r.int("upto")}
	if err := r.err; err != nil {
		return Listed{}, err
	}
	out.Cut(req.Size)
	if len(out.Requests) == 0 {
		return out, nil
	}
	out.Requests, err = s.withRecords(ctx, lane, out.Requests)
	return out, err
}

// Cut orders what was found and leaves out what the next part has.
func (l *Listed) Cut(size int) {
	slices.SortFunc(l.Requests, func(a, b RequestState) int { return cmp.Compare(a.Ticket, b.Ticket) })
	l.Requests = slices.DeleteFunc(l.Requests, func(r RequestState) bool { return l.Upto != 0 && r.Ticket > l.Upto })
	if len(l.Requests) > size {
		l.Requests, l.Upto = l.Requests[:size], l.Requests[size-1].Ticket
	}
}

// withRecords adds what the records tell. A request whose record is gone, or of a later ticket, is left out.
func (s *Store) withRecords(ctx context.Context, lane Lane, list []RequestState) ([]RequestState, error) {
	keys := make([]string, len(list))
	for i, r := range list {
		keys[i] = KeysOf(lane.Key).Record(r.ID)
	}
	r, err := s.run(ctx, recordsScript, lane, keys)
	if err != nil {
		return nil, err
	}
	var known []RequestState
	for i, state := range list {
		record := r.recordUnder(strconv.Itoa(i+1)+".", state.ID)
		if state, ok := state.With(record); ok {
			known = append(known, state)
		}
	}
	return known, r.err
}

// With adds a record that was read later to what a list told; ok is false for a record that is gone, or of another ticket.
func (r RequestState) With(record Record) (state RequestState, ok bool) {
	switch {
	case record.Ticket != r.Ticket:
		return RequestState{}, false
	case record.Status != Open: // perhaps only now
		return RequestState{Record: record, Known: true}, true
	}
	record.Attempts = r.Attempts
	r.Record, r.Known = record, true
	return r, true
}

// listed is what a list script told, in no order.
func (r *reply) listed() []RequestState {
	var list []RequestState
	ended := strings.Fields(r.fields["ended"])
	for i := 0; i+1 < len(ended); i += 2 {
		list = append(list, RequestState{Record: Record{ID: ended[i+1], Ticket: number(ended[i])}})
	}
	open := strings.Fields(r.fields["open"])
	for i := 0; i+5 < len(open); i += 6 {
		list = append(list, RequestState{
			Record: Record{ID: open[i+1], Ticket: number(open[i]), Attempts: number(open[i+3])}, Open: true, Live: open[i+2] == "running",
			Parked: open[i+2] == "parked", Unknown: open[i+2] == "unknown", Position: number(open[i+4]), Slot: number(open[i+5]),
		})
	}
	return list
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // a script made it by %.0f
	return n
}
