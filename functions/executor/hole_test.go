package executor

import (
	"net/http"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func drained(t *testing.T) *shutdown.Drain {
	t.Helper()
	d := &shutdown.Drain{}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// timed is a fixture whose clock is miniredis' own.
type timed struct {
	*fixture
	now    time.Time
	moveTo func(time.Time)
}

func newTimed(t *testing.T, lanePolicy string) *timed {
	t.Helper()
	m := redistest.Miniredis(t)
	b := &timed{fixture: setup(t, redistest.Client(t, m), lanePolicy), now: time.Now(), moveTo: m.SetTime}
	m.SetTime(b.now)
	return b
}

func (b *timed) forward(d time.Duration) {
	b.now = b.now.Add(d)
	b.moveTo(b.now)
}

// hole is a lane whose head a has no task, and on which b waits.
type hole struct {
	*timed
	a, b taskqueue.Envelope
}

func newHole(t *testing.T) *hole {
	t.Helper()
	h := &hole{timed: newTimed(t, "spacing: 0s")}
	h.a, h.b = h.reserve("a"), h.submit("b")
	return h
}

// kick delivers the kick that was left last, and returns its schedule before.
func (h *hole) kick(t *testing.T) {
	t.Helper()
	kicks := h.queue.of(taskqueue.KindKick)
	if len(kicks) == 0 {
		t.Fatal("no kick was left: nobody would look at the lane again")
	}
	latest := kicks[0]
	for _, k := range kicks {
		if k.Envelope.Seq > latest.Envelope.Seq {
			latest = k
		}
	}
	if got := h.Deliver(t.Context(), latest.Envelope); got != http.StatusOK {
		t.Errorf("kick: %d, want 200", got)
	}
}

func (h *hole) wake(t *testing.T) {
	t.Helper()
	view := slot.Seen{Incarnation: h.a.Incarnation, Now: h.now.UnixMilli()}
	seq, _, err := h.slots.Kick(t.Context(), h.lane.Slot, view.Incarnation, view.Now, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Deliver(t.Context(), taskqueue.Envelope{Kind: taskqueue.KindKick, Key: testKey, Incarnation: view.Incarnation, Seq: seq}); got != http.StatusOK {
		t.Errorf("kick: %d, want 200", got)
	}
}

func TestAHoleIsVoidedPastItsDeadlineOnly(t *testing.T) {
	t.Parallel()
	h := newHole(t)
	// Before the deadline the task may still come: the lane waits, and somebody will look again.
	h.forward(2 * time.Second)
	h.wake(t)
	if h.status("a") != slot.Open || len(h.calls) != 0 {
		t.Fatalf("before the deadline: a is %q, %d runs", h.status("a"), len(h.calls))
	}
	h.forward(slot.ConfirmWithin)
	h.kick(t)
	if got := h.status("a"); got != "" {
		t.Errorf("past the deadline: a is %q, want voided and forgotten", got)
	}
	if h.status("b") != slot.Done {
		t.Errorf("b is %s, want done: the lane goes on", h.status("b"))
	}
}

func TestAHoleIsKeptWhileTheQueueIsNotInOrder(t *testing.T) {
	t.Parallel()
	h := newHole(t)
	h.queue.stateErr = taskqueue.ErrNotFound
	h.forward(slot.ConfirmWithin + time.Second)
	h.wake(t)
	if h.status("a") != slot.Open {
		t.Errorf("a is %q, want open: a queue that denies itself proves nothing", h.status("a"))
	}
}

func TestAnUnconfirmedHeadRunsWhenItsTaskIsFound(t *testing.T) {
	t.Parallel()
	h := newHole(t)
	if _, err := h.queue.Create(t.Context(), taskqueue.Task{
		ID: taskqueue.RequestTaskID(testKey, h.a.Incarnation, h.a.Ticket, "a", 0), Envelope: h.a,
	}); err != nil {
		t.Fatal(err)
	}
	h.forward(5 * time.Second) // both tasks are late
	h.wake(t)
	if h.status("a") != slot.Done || h.status("b") != slot.Done {
		t.Errorf("a is %s, b is %s, want both done", h.status("a"), h.status("b"))
	}
}

// confirmed makes the task of a vanish after it was acknowledged.
func confirmed(t *testing.T) *hole {
	t.Helper()
	h := newHole(t)
	if ok, err := h.slots.Confirm(t.Context(), h.lane.Slot, "a", h.a.Ticket, h.a.Incarnation); err != nil || !ok {
		t.Fatalf("confirm: %v %v", ok, err)
	}
	h.forward(5 * time.Second)
	return h
}

func TestAMissingHeadTakesTwoLooks(t *testing.T) {
	t.Parallel()
	h := confirmed(t)
	h.wake(t)
	if h.status("a") != slot.Open || h.status("b") != slot.Open {
		t.Fatalf("after the first look: a %q, b %q, want both open", h.status("a"), h.status("b"))
	}
	h.forward(slot.MissingAfter)
	h.kick(t)
	if h.status("b") != slot.Done || len(h.calls) != 1 {
		t.Errorf("after the second: b %q, %d runs, want done and 1", h.status("b"), len(h.calls))
	}
	// Should its task come after all, it takes a new place.
	if got := h.Deliver(t.Context(), h.a); got != http.StatusOK {
		t.Errorf("late task: %d, want 200", got)
	}
	tasks := h.queue.of(taskqueue.KindRequest)
	adopted := tasks[len(tasks)-1].Envelope
	if got := h.Deliver(t.Context(), adopted); got != http.StatusOK || h.status("a") != slot.Done {
		t.Errorf("adopted: %d, a is %s, want 200 and done", got, h.status("a"))
	}
}

func TestAMissingHeadIsKept(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*hole){
		"when the queue is not in order":        func(h *hole) { h.queue.state = taskqueue.Disabled },
		"when the queue denies itself":          func(h *hole) { h.queue.stateErr = taskqueue.ErrNotFound },
		"when too many are missing":             func(h *hole) { h.missing = func() (bool, error) { return false, nil } },
		"when durable records cannot be read":   func(h *hole) { h.records.err = http.ErrServerClosed },
		"when the queue cannot be asked at all": func(h *hole) { h.queue.getErr = http.ErrServerClosed },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := confirmed(t)
			spoil(h)
			for range 3 {
				h.wake(t)
				h.forward(31 * time.Second)
			}
			if h.status("a") != slot.Open || len(h.calls) != 0 {
				t.Errorf("a is %q after %d runs, want open and none", h.status("a"), len(h.calls))
			}
		})
	}
}

func TestAMissingHeadThatEndedIsResolvedFromItsDurableRecord(t *testing.T) {
	t.Parallel()
	h := confirmed(t)
	h.ended("a", h.a.Ticket)
	h.wake(t)
	h.forward(slot.MissingAfter)
	h.kick(t)
	_, r, err := h.slots.Inspect(t.Context(), h.lane.Slot, "a")
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != slot.Done || !r.Durable || h.status("b") != slot.Done {
		t.Errorf("a is %s, durable %t, b is %s, want both done, a elsewhere", r.Status, r.Durable, h.status("b"))
	}
}

func TestALapsedHeadIsTakenOver(t *testing.T) {
	t.Parallel()
	h := newHole(t)
	lost := h.grant(h.a)
	// Its executor dies. Its own redelivery takes over, with a higher fence; the late finish is refused.
	h.forward(31 * time.Second)
	if got := h.Deliver(t.Context(), h.a); got != http.StatusOK {
		t.Fatalf("redelivery: %d", got)
	}
	if call := <-h.calls; call.Fence <= lost.Fence || call.Attempt != 2 || call.ID != "a" {
		t.Errorf("took over with fence %d attempt %d of %s, want above %d, 2, a", call.Fence, call.Attempt, call.ID, lost.Fence)
	}
	f, err := h.slots.Finish(t.Context(), h.lane.Slot, slot.FinishRequest{Grant: lost, Request: "a", Outcome: slot.Accept, Jitter: 1})
	if err != nil || f.Verdict != slot.AlreadyDone {
		t.Errorf("late finish: %v %v, want DONE", f.Verdict, err)
	}
}
