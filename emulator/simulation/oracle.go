package simulation

import (
	"fmt"
	"sync"
	"time"
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
	losses     []lossBook
	excepted   map[string]int  // what is no violation in one of the windows that are stated
	lives      int             // begun beside the first of each request
	refused    map[string]bool // clients without a key that were told that nothing was accepted
	tasked     map[string]bool // clients whose request has had a task
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
	runs   map[*runBook]bool
	lives  map[int64]*life // by ticket, open or not
	// lost are places that Redis forgot, shadows the ends of leases that were alive then, blind the fences of grants by callers who
	// had not noticed the loss.
	lost    map[int64]*ticketBook
	shadows map[int64]int64
	blind   map[int64]bool
	held    bool      // paused
	purged  time.Time // last
}

// ticketBook is an unresolved ticket.
type ticketBook struct {
	request string
	fence   int64 // 0: not leased
	expiry  int64
	ready   int64
	retried int64     // the fence whose retry was answered last
	late    bool      // given to a caller who had not noticed that Redis was emptied
	adopted bool      // given to a task that came back: its successor may be late, and the place given up
	before  time.Time // when the request had got the place that it had then
}

// requestBook is one request.
type requestBook struct {
	id, lane, client string
	*life                // the present one
	runs, flushes    int // flushes: tasks that carry its record
	all              int // tasks that it has by now, of whichever life
}

func newOracle(w *World) *oracle {
	return &oracle{
		world: w, lanes: map[string]*laneBook{}, requests: map[string]*requestBook{}, excepted: map[string]int{}, refused: map[string]bool{}, tasked: map[string]bool{},
	}
}

func (o *oracle) lane(key string) *laneBook {
	l := o.lanes[key]
	if l == nil {
		l = &laneBook{
			key: key, open: map[int64]*ticketBook{}, owners: map[int64]string{}, runs: map[*runBook]bool{}, lives: map[int64]*life{},
			lost: map[int64]*ticketBook{}, shadows: map[int64]int64{}, blind: map[int64]bool{},
		}
		o.lanes[key] = l
	}
	return l
}

func (o *oracle) request(lane, id string) *requestBook {
	r := o.requests[id]
	if r == nil {
		r = &requestBook{id: id, lane: lane, life: &life{arrived: time.Now()}}
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

// except counts what would be a violation, were it not in a window that is stated.
func (o *oracle) except(window, lane, format string, args ...any) {
	o.excepted[window]++
	o.world.note(lane, "EXCEPTION "+window+": "+format, args...)
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
	o.violate("", "I6: tasks remain for ever: %s", o.world.queue.left())
}

func short(ticket int64) string { return number(ticket % 100000) }
