package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// An instance dies at one step of a submission, alone or right after another instance has answered a duplicate. Whatever it
// leaves behind, the client's next try must be acknowledged or answered, and what is acknowledged must have a task.
func TestAnInstanceDies(t *testing.T) {
	t.Parallel()
	// A death is set up on an instance, and happens by calling end.
	type death func(b *bundle, end func())
	at := func(verb string, where point) death {
		return func(b *bundle, end func()) {
			b.slots.at(func(v string, at point) error {
				if v == verb && at == where {
					b.slots.at(func(string, point) error { return nil })
					end()
				}
				return nil
			})
		}
	}
	creating := func(exists bool) death {
		return func(b *bundle, end func()) {
			b.queue.set(func(_ taskqueue.Task, exist func()) error {
				b.queue.set(nil)
				if exists {
					exist()
				}
				end()
				return nil
			})
		}
	}
	failing := func(then death) death {
		return func(b *bundle, end func()) { b.target.answer(500, "boom"); then(b, end) }
	}
	for name, tt := range map[string]struct {
		death death
		async bool
	}{
		"before reserve":                  {at("reserve", before), true},
		"after reserve":                   {at("reserve", after), true},
		"before its task exists":          {creating(false), true},
		"after its task exists":           {creating(true), true},
		"with the lease in hand":          {at("reserve", after), false},
		"after the effect, before finish": {at("finish", before), false},
		"after finish":                    {at("finish", after), false},
		"after a failed run":              {failing(at("finish", after)), false},
		"before the task of a retry":      {failing(creating(false)), false},
		"after the task of a retry":       {failing(creating(true)), false},
	} {
		headers := []header{once("k")}
		if tt.async {
			headers = append(headers, async)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tt.death(b, die)
			if !dying(t, func() { b.submit("lane-a", headers...) }) {
				t.Fatal("the instance did not die there")
			}
			b.wantAnswered("lane-a", b.submit("lane-a", headers...))
		})
		t.Run(name+", with a duplicate answered elsewhere", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var duplicate *httptest.ResponseRecorder
			tt.death(b, func() { duplicate = b.elsewhere().submit("lane-a", headers...); die() })
			if !dying(t, func() { b.submit("lane-a", headers...) }) {
				t.Fatal("the instance did not die there")
			}
			b.wantAnswered("lane-a", duplicate)
			b.wantAnswered("lane-a", b.submit("lane-a", headers...))
		})
	}
}

// elsewhere is another instance on the same Redis, queue and target, which nothing befalls.
func (b *bundle) elsewhere() *bundle {
	c := *b
	c.slots = &slots{Store: b.store}
	c.config.Slots, c.config.Inspector, c.config.Tasks.Kicks = c.slots, c.slots, c.slots
	runner := *b.config.Runner
	runner.Slots = c.slots
	runner.Decider = &lane.Decider{Slots: c.slots, Records: b.config.Runner.Decider.Records}
	c.config.Runner = &runner
	c.serve(c.config)
	return &c
}

// wantAnswered checks that an answer is a result, or an acknowledgement that is durable.
func (b *bundle) wantAnswered(key string, w *httptest.ResponseRecorder) {
	b.t.Helper()
	switch w.Header().Get("Seriatim-Status") {
	case "done":
	case "queued", "running":
		b.wantDurable(key, body[accepted](b.t, w))
	default:
		b.t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// wantDurable checks that an acknowledged request has a task for the ticket that it waits with, and keeps it.
func (b *bundle) wantDurable(key string, a accepted) {
	b.t.Helper()
	_, request := b.inspect(key, a.ID)
	if !request.Open && request.Status == slot.Open {
		b.t.Errorf("request %s was acknowledged and its place given up: %+v", a.ID, request)
	}
	if !request.Open {
		return
	}
	for k := range 10 {
		if _, ok := b.queue.task(request.Ticket, k); ok {
			return
		}
	}
	b.t.Errorf("request %s was acknowledged and its ticket %d has no task", a.ID, request.Ticket)
}

// Many clients, a queue and a Redis that fail in every way at random, instances that die. Clients send again until they are
// acknowledged or answered. Afterwards every acknowledged request is terminal or has a task, and the order of the lane is that
// of acknowledgements.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, server.Client())
			chaos := &dice{r: rand.New(rand.NewPCG(seed, 1))}
			b.queue.set(func(task taskqueue.Task, exist func()) error {
				switch n := chaos.roll(10); {
				case n < 2:
					return refused(task, exist)
				case n < 3:
					return lostReply(task, exist)
				case n < 4:
					return vanished(task, exist)
				case n < 5:
					exist()
					die()
				case n < 6:
					die()
				}
				exist()
				return nil
			})
			b.slots.at(func(verb string, at point) error {
				if chaos.roll(20) == 0 {
					return errCut
				}
				return nil
			})
			var wg sync.WaitGroup
			keys := []string{fmt.Sprintf("lane-%d", seed), fmt.Sprintf("async-%d", seed), fmt.Sprintf("paced-%d", seed)}
			for client := range 30 {
				key, name := keys[client%len(keys)], fmt.Sprint(client/2) // two clients send each request
				wg.Go(func() { b.untilAcknowledged(key, name) })
			}
			wg.Wait()
			b.slots.at(func(string, point) error { return nil })
			for client := range 30 {
				key := keys[client%len(keys)]
				id := idempotency.RequestID(key, fmt.Sprint(client/2))
				if _, request := b.inspect(key, id); !request.Known {
					t.Errorf("request %s of %s was acknowledged and is unknown", id, key)
				}
				b.wantDurable(key, accepted{ID: id})
			}
		})
	}
}

// untilAcknowledged sends one request again and again, as a good client does.
func (b *bundle) untilAcknowledged(key, name string) {
	for {
		var w *httptest.ResponseRecorder
		died := dying(b.t, func() { w = b.submit(key, once(name)) })
		switch {
		case died || w.Code == 503:
		case w.Code == 202 || w.Header().Get("Seriatim-Status") == "done":
			return
		default:
			b.t.Errorf("answered %d %s", w.Code, w.Body)
			return
		}
	}
}

type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func TestOrderIsTheOrderOfAcknowledgement(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Start(t).Client())
	var wg sync.WaitGroup
	for client := range 20 {
		wg.Go(func() {
			var last int64
			for i := range 5 {
				w := b.submit("async-a", once(fmt.Sprint(client, "-", i)))
				got := body[accepted](t, w)
				if w.Code != 202 || got.Ticket <= last {
					t.Errorf("client %d: %d, ticket %d after %d", client, w.Code, got.Ticket, last)
				}
				last = got.Ticket
			}
		})
	}
	wg.Wait()
	if s, _ := b.inspect("async-a", ""); s.Depth != 100 {
		t.Errorf("depth %d, want 100", s.Depth)
	}
	if n := b.queue.count(); n != 100 {
		t.Errorf("%d tasks, want 100", n)
	}
}
