package simulation

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
)

// oracle keeps books of what the scripts, ingest and the queue did, and compares with what was promised.
type oracle struct {
	world *World

	mu         sync.Mutex
	lanes      map[string]*laneBook
	requests   map[string]*requestBook
	order      []*requestBook
	violations []string
	runs       int
	queued     int
	work       time.Duration
	took       []time.Duration
	first      time.Time
	last       time.Time
	idle       time.Duration
	idles      []time.Duration
	pending    int // acknowledged and not terminal
}

// laneBook is what the oracle knows of one lane. Instants are Redis milliseconds.
type laneBook struct {
	key    string
	tat    int64
	fence  int64
	last   int64 // grant
	event  int64 // after which the next start was possible, pace aside
	open   map[int64]*ticketBook
	owners map[int64]string // fence -> owner
}

// ticketBook is an unresolved ticket.
type ticketBook struct {
	request string
	fence   int64 // 0: not leased
	expiry  int64
	ready   int64
}

// requestBook is one request.
type requestBook struct {
	id, lane, client string
	arrived          time.Time // first at ingest
	acked            time.Time
	started          bool
	ticket           int64 // of the acknowledgement
	status           slot.Outcome
	fence            int64 // of the grant that ended it
	body             string
	answered         bool
	runs, tasks      int
	hadTask          bool
}

func newOracle(w *World) *oracle {
	return &oracle{world: w, lanes: map[string]*laneBook{}, requests: map[string]*requestBook{}}
}

func (o *oracle) lane(key string) *laneBook {
	l := o.lanes[key]
	if l == nil {
		l = &laneBook{key: key, open: map[int64]*ticketBook{}, owners: map[int64]string{}}
		o.lanes[key] = l
	}
	return l
}

func (o *oracle) request(lane, id string) *requestBook {
	r := o.requests[id]
	if r == nil {
		r = &requestBook{id: id, lane: lane, arrived: time.Now()}
		o.requests[id] = r
		o.order = append(o.order, r)
	}
	return r
}

func (o *oracle) violate(lane, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	o.violations = append(o.violations, lane+": "+text)
	o.world.note(lane, "VIOLATION %s", text)
}

func (o *oracle) broken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.violations) > 0
}

// settled says that every acknowledged request has ended.
func (o *oracle) settled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending == 0
}

func (o *oracle) wedged() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.order {
		if !r.acked.IsZero() && r.status == "" {
			o.violate(r.lane, "I6: request %s is acknowledged and never ends", label(r.id))
			return
		}
	}
	o.violate("", "I6: tasks remain for ever")
}

func short(ticket int64) string { return number(ticket % 100000) }

// reserved sees a RESERVE.
func (o *oracle) reserved(in *instance, l slot.Lane, req slot.ReserveRequest, res slot.Reservation, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s reserve %s: %s t%s", in.name, label(req.ID), res.Verdict, short(res.Ticket))
	r, b := o.request(l.Key, req.ID), o.lane(l.Key)
	if !req.Adopt && req.Submitted.Before(r.arrived) {
		r.arrived = req.Submitted
	}
	if res.Ticket == 0 || res.Verdict == slot.Replayed {
		return
	}
	if b.open[res.Ticket] == nil {
		if res.Verdict == slot.Duplicate {
			o.violate(l.Key, "duplicate of t%s, which is not open", short(res.Ticket))
		}
		b.open[res.Ticket] = &ticketBook{request: req.ID, ready: res.Now}
	}
	if res.Verdict == slot.Run {
		o.grant(b, l, req.ID, res.Grant, res.Now)
	}
}

// started sees a START.
func (o *oracle) started(in *instance, l slot.Lane, req slot.StartRequest, res slot.Started, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	if o.world.trace {
		what := fmt.Sprintf("start t%s k%d", short(req.Ticket), req.K)
		if req.Drive != 0 {
			what = fmt.Sprintf("drive t%s", short(req.Drive))
		}
		rest := ""
		switch res.Verdict {
		case slot.Wait:
			rest = fmt.Sprintf(" %s until %+d overdue=%t", res.Reason, res.Until-res.Now, res.Overdue)
		case slot.Snoozed:
			rest = fmt.Sprintf(" %s k%d at %+d", res.Reason, res.K, res.At-res.Now)
		case slot.Run:
			rest = fmt.Sprintf(" fence %s", short(res.Grant.Fence))
		}
		if n := res.Next; n.Ticket != 0 {
			rest += fmt.Sprintf("; head t%s k%d due %+d here=%t at %+d", short(n.Ticket), n.K, n.Due-res.Now, n.Here, n.At-res.Now)
		}
		o.world.note(l.Key, "%s %s left %v: %s%s", in.name, what, req.Left, res.Verdict, rest)
	}
	if res.Verdict == slot.Run {
		id := req.Request
		if req.Drive != 0 {
			id = req.DriveRequest
		}
		o.grant(o.lane(l.Key), l, id, res.Grant, res.Now)
	}
}

// grant checks what a grant must not break: I1, I2 and I3.
func (o *oracle) grant(b *laneBook, l slot.Lane, id string, g slot.Grant, now int64) {
	t := b.open[g.Ticket]
	if t == nil {
		o.violate(b.key, "I2: t%s is granted and not open", short(g.Ticket))
		return
	}
	if g.Fence <= b.fence {
		if t.fence != g.Fence || b.owners[g.Fence] != g.Owner {
			o.violate(b.key, "I1: fence %s is told to two grants", short(g.Fence))
		}
		return // told again
	}
	o.exclusion(b, l, g, now)
	o.sequence(b, id, g, now)
	possible := max(t.ready, b.event, t.expiry, b.gate(l, o.world.Change != nil))
	o.pace(b, l, now)
	o.idles = append(o.idles, time.Duration(max(0, now-possible))*time.Millisecond)
	if idle := time.Duration(now-possible) * time.Millisecond; idle > o.idle {
		o.idle = idle
		o.world.note(b.key, "longest idle so far: %v", idle)
	}
	b.fence, b.owners[g.Fence], b.event, b.last = g.Fence, g.Owner, now, now
	t.fence, t.expiry = g.Fence, g.Expiry
}

func (o *oracle) exclusion(b *laneBook, l slot.Lane, g slot.Grant, now int64) {
	live := 0
	for ticket, t := range b.open {
		if t.fence != 0 && t.expiry > now {
			live++
			if ticket == g.Ticket {
				o.violate(b.key, "I1: t%s has a live lease and gets another", short(ticket))
			}
		}
	}
	if live >= l.Concurrency {
		o.violate(b.key, "I1: t%s is granted beside %d live leases", short(g.Ticket), live)
	}
}

func (o *oracle) sequence(b *laneBook, id string, g slot.Grant, now int64) {
	for ticket, t := range b.open {
		if ticket < g.Ticket && (t.fence == 0 || t.expiry <= now) {
			o.violate(b.key, "I2: t%s is granted before t%s, which waits", short(g.Ticket), short(ticket))
		}
	}
	r := o.request(b.key, id)
	if r.started {
		return
	}
	r.started = true
	for _, a := range o.order {
		if a.lane == b.key && !a.started && !a.acked.IsZero() && a.acked.Before(r.arrived) {
			o.violate(b.key, "I2: %s starts before %s, which was acknowledged before it arrived", label(id), label(a.id))
		}
	}
}

// gate is from when pace allows the next grant. Where the policy changes only the last grant tells.
func (b *laneBook) gate(l slot.Lane, changes bool) int64 {
	if changes {
		return b.last + l.Spacing.Milliseconds()
	}
	return b.tat - int64(l.Burst-1)*l.Spacing.Milliseconds()
}

func (o *oracle) pace(b *laneBook, l slot.Lane, now int64) {
	spacing := l.Spacing.Milliseconds()
	if o.world.Change != nil { // only the spacing of the call is known
		if b.last != 0 && l.Burst == 1 && now < b.last+spacing {
			o.violate(b.key, "I3: a grant %d ms after the last, spacing %v", now-b.last, l.Spacing)
		}
		return
	}
	if gate := b.tat - int64(l.Burst-1)*spacing; now < gate {
		o.violate(b.key, "I3: a grant %d ms before the gate", gate-now)
	}
	b.tat = max(b.tat, now) + spacing
}

// renewed sees a RENEW.
func (o *oracle) renewed(in *instance, l slot.Lane, g slot.Grant, expiry int64, ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s renew t%s: %t", in.name, short(g.Ticket), ok)
	if !ok {
		return
	}
	t := o.lane(l.Key).open[g.Ticket]
	if t == nil || t.fence != g.Fence || t.expiry <= expiry-l.Lease.Milliseconds() {
		o.violate(l.Key, "I1: renew of t%s revives a lease", short(g.Ticket))
		return
	}
	t.expiry = expiry
}

// finished sees a FINISH.
func (o *oracle) finished(in *instance, l slot.Lane, req slot.FinishRequest, res slot.Finished, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s finish t%s fence %s %s: %s %s; head t%s due %+d here=%t at %+d", in.name, short(req.Grant.Ticket),
		short(req.Grant.Fence), req.Outcome, res.Verdict, res.Outcome, short(res.Next.Ticket), res.Next.Due-res.Now, res.Next.Here, res.Next.At-res.Now)
	if res.Verdict != slot.OK {
		return
	}
	b, r := o.lane(l.Key), o.request(l.Key, req.Request)
	t := b.open[req.Grant.Ticket]
	if res.Outcome == slot.Retry {
		if t != nil && t.fence == req.Grant.Fence {
			t.fence, t.expiry, t.ready, b.event = 0, 0, res.At, res.Now
		}
		return
	}
	if r.status != "" && r.fence != req.Grant.Fence {
		o.violate(l.Key, "I5: %s is ended by two grants", label(r.id))
	}
	if t != nil {
		b.event = max(res.Now, res.Next.At)
	}
	delete(b.open, req.Grant.Ticket)
	o.end(r, res.Outcome, req.Grant.Fence)
}

func (o *oracle) end(r *requestBook, status slot.Outcome, fence int64) {
	if r.status == "" && !r.acked.IsZero() {
		o.pending--
	}
	r.status, r.fence = status, fence
	o.last = time.Now()
}

// looked sees a VOID, MISSING or SETTLE.
func (o *oracle) looked(in *instance, l slot.Lane, op, id string, ticket int64, res slot.Looked, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.world.note(l.Key, "%s %s t%s: %s", in.name, op, short(ticket), res.Verdict)
	b := o.lane(l.Key)
	t := b.open[ticket]
	if res.Verdict != slot.Voided || t == nil {
		return
	}
	r := o.request(l.Key, id)
	if op == "void" && !r.acked.IsZero() && r.ticket == ticket {
		o.violate(l.Key, "I4: the place of %s is given up after its acknowledgement", label(id))
	}
	if op == "settle" && !r.acked.IsZero() && r.tasks > 0 {
		o.violate(l.Key, "I2: %s is found missing and has a task", label(id))
	}
	delete(b.open, ticket)
	b.event = res.Now
}

// ran sees a call of the target.
func (o *oracle) ran(in *instance, req target.Request, takes time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs++
	o.work += takes
	o.took = append(o.took, takes)
	o.request(req.Key, req.ID).runs++
	o.world.note(req.Key, "%s calls the target for %s, fence %s", in.name, label(req.ID), short(req.Fence))
}

// taskCreated and taskGone see the tasks of the queue.
func (o *oracle) taskCreated(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.requests[id]; r != nil {
		r.tasks++
		if !r.hadTask {
			r.hadTask = true
			o.queued++
		}
	}
}

func (o *oracle) taskGone(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.requests[id]
	if r == nil {
		return
	}
	r.tasks--
	if r.tasks == 0 && !r.acked.IsZero() && r.status == "" {
		o.violate(r.lane, "I4: the last task of %s is gone, and it has not ended", label(id))
	}
}

// answered sees what ingest answers, at the instant it does.
func (o *oracle) answered(in *instance, lane, client string, out *response) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := out.header.Get("Seriatim-Request-Id")
	o.world.note(lane, "%s answers %s: %d %s t%s", in.name, client, out.status, out.header.Get("Seriatim-Status"), out.header.Get("Seriatim-Ticket"))
	if o.first.IsZero() {
		o.first = time.Now()
	}
	if id == "" || out.status >= 500 {
		return
	}
	r := o.request(lane, id)
	r.client = client
	if out.status != 202 {
		o.replayed(r, out)
	}
	if !r.acked.IsZero() {
		return
	}
	r.acked = time.Now()
	if _, err := fmt.Sscan(out.header.Get("Seriatim-Ticket"), &r.ticket); err != nil {
		o.violate(lane, "an answer without a ticket")
	}
	if r.status == "" {
		o.pending++
		if r.tasks == 0 {
			o.violate(lane, "I4: %s is acknowledged without a task", label(id))
		}
	}
}

// replayed checks that an outcome is told the same every time.
func (o *oracle) replayed(r *requestBook, out *response) {
	body := number(int64(out.status)) + " " + out.body.String()
	if r.status == "" {
		o.violate(r.lane, "I5: %s is answered with a result and has not ended", label(r.id))
	}
	if r.answered && r.body != body {
		o.violate(r.lane, "I5: %s is answered %q, and was %q", label(r.id), body, r.body)
	}
	r.answered, r.body = true, body
}

// result sums up.
func (w *World) result() Result {
	o, stats := w.oracle, w.queue.stats()
	o.mu.Lock()
	defer o.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	acked := 0
	for _, r := range o.order {
		if !r.acked.IsZero() {
			acked++
		}
	}
	return Result{
		Scenario: w.Scenario, Violations: slices.Clone(o.violations), Requests: acked, Queued: o.queued, Runs: o.runs,
		Dispatches: stats.Dispatches, Tasks: stats.Created, Makespan: o.last.Sub(w.start), Took: slices.Clone(o.took), Idle: o.idle, Idles: slices.Sorted(slices.Values(o.idles)),
		Calls: w.counts, struck: w.struck, lines: w.lines,
	}
}
