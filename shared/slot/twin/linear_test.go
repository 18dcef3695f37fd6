package twin_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// TestHistoriesAreLinearizable has clients reserve, start and finish on one lane of a real Redis at the same time, and asks
// whether the twin, called one after another in some order that respects real time, would have answered the same.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	rdb, noticed := redistest.Start(t).Client(), false
	for seed := range uint64(20) {
		clock := slottest.NewClock(rdb)
		h := &history{store: slot.New(clock, slot.First, nil), clock: clock, began: time.Now(), lane: slot.Lane{
			Key: fmt.Sprint("linear ", seed), Policy: "p", Concurrency: 2, Burst: 1, Lease: time.Minute, Retention: time.Hour,
			MaxDepth: 100, Attempts: 3, MaxAge: time.Hour, BackoffMin: time.Second, BackoffMax: time.Second,
		}}
		var group sync.WaitGroup
		for client := range 4 {
			group.Go(func() { h.play(t, client, rand.New(rand.NewPCG(seed, uint64(client)))) })
		}
		group.Wait()
		if got := porcupine.CheckOperationsTimeout(h.model(t), h.operations, time.Minute); got != porcupine.Ok {
			t.Errorf("seed %d: the history of %d calls: %v", seed, len(h.operations), got)
		}
		noticed = noticed || !porcupine.CheckOperations(h.model(t, twin.NoOvertaking), h.operations)
	}
	if !noticed {
		t.Error("no history tells the lane from one where arrivals overtake")
	}
}

// called is a call that any Store can make again.
type called func(verbs) (any, error)

// history records calls on one lane, whose clock stands still.
type history struct {
	store *slot.Store
	clock *slottest.Clock
	lane  slot.Lane
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	tasks      []slot.StartRequest
	grants     []held
}

// play makes a client's calls, on requests that it shares with the others.
func (h *history) play(t *testing.T, client int, r *rand.Rand) {
	for n := range 10 {
		call := h.next(t, fmt.Sprintf("o%d-%d", client, n), r)
		sent := time.Since(h.began)
		answer, err := call(h.store)
		if err != nil {
			t.Error(err)
			return
		}
		h.mu.Lock()
		h.operations = append(h.operations, porcupine.Operation{
			ClientId: client, Input: call, Output: answer, Call: int64(sent), Return: int64(time.Since(h.began)),
		})
		h.mu.Unlock()
	}
}

// next draws a call from what has become known so far.
func (h *history) next(t *testing.T, owner string, r *rand.Rand) called {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch verb := r.IntN(3); {
	case verb == 1 && len(h.tasks) > 0:
		req := h.tasks[r.IntN(len(h.tasks))]
		req.Owner, req.Left, req.Jitter = owner, slot.InlineWait, 1
		return func(v verbs) (any, error) {
			out, err := v.Start(t.Context(), h.lane, req)
			h.learn(out.Grant, req.Request)
			return out, err
		}
	case verb == 2 && len(h.grants) > 0:
		g := h.grants[r.IntN(len(h.grants))]
		outcome := []slot.Outcome{slot.Accept, slot.Retry}[r.IntN(2)]
		return func(v verbs) (any, error) {
			return v.Finish(t.Context(), h.lane, slot.FinishRequest{
				Grant: g.Grant, Request: g.request, Outcome: outcome, Own: true, Counts: true, Jitter: 1,
			})
		}
	}
	req := slot.ReserveRequest{
		ID: fmt.Sprintf("r%d", r.IntN(6)), Fingerprint: "f", Owner: owner, Immediate: r.IntN(2) == 0, Submitted: time.UnixMilli(1796119200000),
	}
	return func(v verbs) (any, error) {
		out, err := v.Reserve(t.Context(), h.lane, req)
		if out.Ticket != 0 && out.Verdict != slot.Replayed {
			h.learn(out.Grant, req.ID, slot.StartRequest{Ticket: out.Ticket, Incarnation: out.Incarnation, Request: req.ID})
		}
		return out, err
	}
}

func (h *history) learn(g slot.Grant, request string, tasks ...slot.StartRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, tasks...)
	if g.Ticket != 0 {
		h.grants = append(h.grants, held{g, request})
	}
}

// done is the state of the model: the calls so far, and what they have made of a twin.
type done struct {
	calls []called
	dump  map[string]map[string]string
}

// model says which answers a lane may give, one call after another: those of the twin.
func (h *history) model(t *testing.T, without ...twin.Rule) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return done{} },
		Step: func(state, input, output any) (bool, any) {
			before := state.(done)
			s := twin.New(twin.Options{Now: h.clock.Now, Keep: true, Without: without})
			for _, call := range before.calls {
				if _, err := call(s); err != nil {
					t.Error(err)
				}
			}
			answer, err := input.(called)(s)
			after := done{append(before.calls[:len(before.calls):len(before.calls)], input.(called)), s.Dump(h.lane.Key)}
			return err == nil && cmp.Equal(output, answer, cmpopts.EquateEmpty()), after
		},
		Equal: func(a, b any) bool { return cmp.Equal(a.(done).dump, b.(done).dump) },
	}
}
