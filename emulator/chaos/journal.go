package chaos

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// event is a fault, or what an operator did, from its begin to its end.
type event struct {
	kind, what string // what: the process, lane or figures
	from, to   time.Time
}

// journal is the list of all events. It is safe for concurrent use.
type journal struct {
	began time.Time
	out   io.Writer

	mu     sync.Mutex
	events []*event
}

func (j *journal) begin(kind, what string) *event {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := &event{kind: kind, what: what, from: time.Now()}
	j.events = append(j.events, e)
	fmt.Fprintf(j.out, "%s %s %s\n", j.at(e.from), kind, what)
	return e
}

// tell says more about an event that has begun.
func (j *journal) tell(e *event, what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.what = what
}

func (j *journal) end(e *event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.to = time.Now()
	fmt.Fprintf(j.out, "%s %s %s ends\n", j.at(e.to), e.kind, e.what)
}

// note is an event without duration.
func (j *journal) note(kind, what string) { j.end(j.begin(kind, what)) }

// list returns copies; what has not ended lasts until now.
func (j *journal) list() []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]event, len(j.events))
	for i, e := range j.events {
		list[i] = *e
		if e.to.IsZero() {
			list[i].to = time.Now()
		}
	}
	return list
}

// at is an instant as seconds since the begin of the run.
func (j *journal) at(t time.Time) string { return fmt.Sprintf("%9.3f", t.Sub(j.began).Seconds()) }

// loss is a loss of state in Redis.
type loss struct {
	kind string
	from time.Time // writes from here on may be lost; the same as at, where all is lost
	at   time.Time
	up   time.Time // somebody answers again
}
