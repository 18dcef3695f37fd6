package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

const firestoreDecides = "spacing: 0s, decide: firestore"

// steps are the scripts of an attempt, with what a test does around them.
type steps struct {
	*slot.Store
	// on is called before and after each, where it is set; its error is that of the call.
	on func(verb string, after bool) error
}

func around[T any](s *steps, verb string, call func() (T, error)) (T, error) {
	on := s.on
	if on == nil {
		return call()
	}
	var none T
	if err := on(verb, false); err != nil {
		return none, err
	}
	v, err := call()
	if lost := on(verb, true); lost != nil {
		return none, lost
	}
	return v, err
}

func (s *steps) Renew(ctx context.Context, l slot.Lane, g slot.Grant) (expiry int64, ok bool, err error) {
	_, err = around(s, "renew", func() (none struct{}, err error) {
		expiry, ok, err = s.Store.Renew(ctx, l, g)
		return none, err
	})
	return expiry, ok, err
}

func (s *steps) Finish(ctx context.Context, l slot.Lane, r slot.FinishRequest) (slot.Finished, error) {
	return around(s, "finish", func() (slot.Finished, error) { return s.Store.Finish(ctx, l, r) })
}

func (s *steps) Ending(ctx context.Context, l slot.Lane, r slot.FinishRequest) (slot.Ending, error) {
	return around(s, "ending", func() (slot.Ending, error) { return s.Store.Ending(ctx, l, r) })
}

// numbered makes the target answer with the number of its run of a request.
func (b *fixture) numbered() {
	runs := map[string]int{}
	b.behave = func(_ context.Context, r target.Request) (target.Response, error) {
		runs[r.ID]++
		return target.Response{Status: 201, Body: fmt.Appendf(nil, "%s, run %d", r.ID, runs[r.ID])}, nil
	}
}

// lapse ends the leases of the lane, as time would.
func (b *fixture) lapse() {
	b.t.Helper()
	keys := slot.KeysOf(testKey).Leases()
	for _, ticket := range b.rdb.ZRange(b.t.Context(), keys, 0, -1).Val() {
		if err := b.rdb.ZAdd(b.t.Context(), keys, redis.Z{Score: 1, Member: ticket}).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// wantResult fails unless the request was run so often and has this one result, wherever somebody may read it.
func (b *fixture) wantResult(id string, runs int, body string) {
	b.t.Helper()
	if n := len(b.calls); n != runs {
		b.t.Errorf("%d runs, want %d", n, runs)
	}
	stored := b.wantStored(id, record.Done)
	_, r, err := b.slots.Inspect(b.t.Context(), b.lane.Slot, id)
	if err != nil || r.Status != slot.Done || !r.Durable {
		b.t.Errorf("in Redis: %q, durable %t, %v; want done and durable", r.Status, r.Durable, err)
	}
	if !bytes.Equal(r.Response, stored.Response) {
		b.t.Errorf("Redis tells %q, the store %q", r.Response, stored.Response)
	}
	if got, _, err := lane.DecodeResponse(stored.Response); err != nil || string(got.Body) != body {
		b.t.Errorf("the result is %q, %v; want %q", got.Body, err, body)
	}
}

func (b *fixture) delivers(e taskqueue.Envelope, want int) {
	b.t.Helper()
	if got := b.Deliver(b.t.Context(), e); got != want {
		b.t.Errorf("answered %d, want %d", got, want)
	}
}

var errDied = errors.New("the executor died")

// dies delivers e to an executor that dies in it.
func (b *fixture) dies(e taskqueue.Envelope) {
	b.t.Helper()
	defer func() {
		if p := recover(); p != errDied {
			b.t.Fatalf("%v, want it to die", p)
		}
		b.steps.on, b.records.on = nil, nil
	}()
	b.Deliver(b.t.Context(), e)
}

func TestOneWriteDecidesARequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, firestoreDecides)
		b.numbered()
		b.delivers(b.submit("warm"), http.StatusOK) // loads the scripts
		count := &commands{}
		rdb.AddHook(count)
		e := b.submit("a")
		before, puts, gets := count.n.Load(), b.records.puts.Load(), b.records.gets.Load()
		b.delivers(e, http.StatusOK)
		if got := [3]int64{count.n.Load() - before, b.records.puts.Load() - puts, b.records.gets.Load() - gets}; got != [3]int64{4, 1, 0} {
			t.Errorf("%v calls of Redis (start, ending, finish, flushed), writes and reads of the store; want 4, 1, 0", got)
		}
		b.delivers(e, http.StatusOK) // a duplicate
		if got := b.records.puts.Load() - puts; got != 1 {
			t.Errorf("%d writes after a duplicate, want 1", got)
		}
		b.wantResult("a", 2, "a, run 1") // and warm's
		stored := b.wantStored("a", record.Done)
		_, r, _ := b.slots.Inspect(t.Context(), b.lane.Slot, "a")
		r.Response, stored.Response, r.Finished = nil, nil, stored.Finished // told by another clock reading
		if diff := cmp.Diff(stored, record.Record{
			Key: testKey, ID: r.ID, Fingerprint: r.Fingerprint, Ticket: r.Ticket, Fence: r.Fence, Status: record.Status(r.Status),
			Attempts: r.Attempts, Reason: r.Reason, Detail: r.Detail, Target: r.Target, Submitted: r.Submitted, Started: r.Started,
			Finished: r.Finished, ExpireAt: r.Finished.Add(b.lane.Slot.Retention),
		}); diff != "" {
			t.Errorf("record (-store +Redis):\n%s", diff)
		}
	})
}

func TestAnExecutorDiesWhileFirestoreDecides(t *testing.T) {
	t.Parallel()
	script := func(verb string, after bool) func(*fixture) {
		return func(b *fixture) {
			b.steps.on = func(v string, a bool) error {
				if v == verb && a == after {
					panic(errDied)
				}
				return nil
			}
		}
	}
	put := func(after bool) func(*fixture) {
		return func(b *fixture) {
			b.records.on = func(a bool) error {
				if a == after {
					panic(errDied)
				}
				return nil
			}
		}
	}
	for name, tt := range map[string]struct {
		death func(*fixture)
		runs  int
	}{
		"before it asks how the attempt ends": {script("ending", false), 2},
		"before the store decides":            {put(false), 2},
		"after the store has decided":         {put(true), 1},
		"before finish":                       {script("finish", false), 1},
		"after finish":                        {script("finish", true), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, firestoreDecides, func(t *testing.T, b *fixture) {
				b.numbered()
				e := b.submit("a")
				tt.death(b)
				b.dies(e)
				b.lapse()
				b.delivers(e, http.StatusOK)
				b.wantResult("a", tt.runs, fmt.Sprintf("a, run %d", tt.runs))
				b.delivers(e, http.StatusOK)
			})
		})
	}
}

func TestTwoRunsHaveOneResult(t *testing.T) {
	t.Parallel()
	// The lease lapses at one step, and the request runs elsewhere to its end.
	for name, tt := range map[string]struct {
		at   func(b *fixture, elsewhere func())
		body string
		want int
	}{
		"the other one is first in the handler": {func(b *fixture, elsewhere func()) {
			behave := b.behave
			b.behave = func(ctx context.Context, r target.Request) (target.Response, error) {
				b.behave = behave
				res, err := behave(ctx, r)
				elsewhere()
				return res, err
			}
		}, "a, run 2", http.StatusConflict},
		"the other one is first before the store decides": {func(b *fixture, elsewhere func()) {
			b.records.on = func(bool) error { b.records.on = nil; elsewhere(); return nil }
		}, "a, run 2", http.StatusConflict},
		"this one is first in the store": {func(b *fixture, elsewhere func()) {
			b.steps.on = func(verb string, after bool) error {
				if verb == "finish" && !after {
					b.steps.on = nil
					elsewhere()
				}
				return nil
			}
		}, "a, run 1", http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, firestoreDecides, func(t *testing.T, b *fixture) {
				b.numbered()
				e := b.submit("a")
				tt.at(b, func() { b.lapse(); b.delivers(e, http.StatusOK) })
				b.delivers(e, tt.want)
				b.delivers(e, http.StatusOK)
				runs := 2
				if strings.HasSuffix(tt.body, "1") {
					runs = 1 // who took over found the result
				}
				b.wantResult("a", runs, tt.body)
			})
		})
	}
	t.Run("which the store has from a run that Redis has forgotten", func(t *testing.T) {
		t.Parallel()
		each(t, firestoreDecides, func(t *testing.T, b *fixture) {
			b.numbered()
			e := b.submit("a")
			b.records.on = func(after bool) error {
				if b.records.on = nil; !after {
					_, err := b.records.Memory.Put(t.Context(), record.Record{
						Key: testKey, ID: "a", Ticket: e.Ticket, Fence: 1, Status: record.Done, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
						Response: []byte("{\"status\":201}\nforgotten"),
					})
					return err
				}
				return nil
			}
			b.delivers(e, http.StatusOK)
			b.wantResult("a", 1, "forgotten")
		})
	})
	t.Run("where Redis was lost between the look of the adoption and the grant", func(t *testing.T) {
		t.Parallel()
		each(t, firestoreDecides, func(t *testing.T, b *fixture) {
			b.numbered()
			e := b.submit("a")
			if err := b.rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			r, err := b.slots.Reserve(t.Context(), b.lane.Slot, slot.ReserveRequest{
				ID: "a", Fingerprint: "f", Owner: "o", Adopt: true, Submitted: time.Now(), Target: "work", Ticket: e.Ticket,
			})
			if err != nil || r.Ticket != e.Ticket {
				t.Fatalf("%+v, %v", r, err)
			}
			e.Incarnation = r.Incarnation
			b.ended("a", e.Ticket)
			if b.delivers(e, http.StatusOK); len(b.calls) != 0 {
				t.Errorf("%d runs, want none", len(b.calls))
			}
		})
	})
	t.Run("however different they are", func(t *testing.T) {
		t.Parallel()
		for _, status := range []record.Status{record.Dead, record.Cancelled} {
			each(t, firestoreDecides+", exhausted: park", func(t *testing.T, b *fixture) {
				b.numbered()
				e := b.submit("a")
				b.ended("a", e.Ticket)
				held := b.wantStored("a", record.Done)
				if err := b.records.Delete(t.Context(), testKey, "a", e.Ticket); err != nil {
					t.Fatal(err)
				}
				held.Status, held.Fence = status, 1
				if _, err := b.records.Memory.Put(t.Context(), held); err != nil {
					t.Fatal(err)
				}
				b.delivers(e, http.StatusOK)
				if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || string(r.Status) != string(status) {
					t.Errorf("in Redis %q, %v; want %q", r.Status, err, status)
				}
				b.wantStored("a", status)
			})
		}
	})
}

func TestWhatWasDecidedStaysUnderAnotherPlace(t *testing.T) {
	t.Parallel()
	purge := func(b *fixture) {
		b.t.Helper()
		if _, err := b.slots.Purge(b.t.Context(), b.lane.Slot); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, ends := range map[string]func(*fixture, taskqueue.Envelope){
		"that was purged": func(b *fixture, _ taskqueue.Envelope) { purge(b) },
		"whose run did not say that Redis has heard of it": func(b *fixture, e taskqueue.Envelope) {
			b.steps.on = func(verb string, after bool) error {
				if verb == "finish" && after {
					panic(errDied)
				}
				return nil
			}
			b.dies(e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, firestoreDecides, func(t *testing.T, b *fixture) {
				b.numbered()
				first := b.submit("a")
				b.steps.on = func(verb string, _ bool) error {
					if verb == "finish" {
						panic(errDied)
					}
					return nil
				}
				b.dies(first)
				decided := b.wantStored("a", record.Done)
				b.lapse()
				purge(b)
				again := b.submit("a")
				ends(b, again)
				b.delivers(again, http.StatusOK)
				if got := b.wantStored("a", record.Done); got.Ticket != decided.Ticket || got.Fence != decided.Fence || !bytes.Equal(got.Response, decided.Response) {
					t.Errorf("the store has %+v, want %+v still", got, decided)
				}
				// Redis tells no other end, and leaves the response to the store.
				if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || r.Status != slot.Done || !r.Durable || len(r.Response) != 0 {
					t.Errorf("in Redis %+v, %v; want a tombstone of what is done", r.Record, err)
				}
				if n := len(b.calls); n != 1 {
					t.Errorf("%d runs, want 1", n)
				}
			})
		})
	}
}

func TestAStoreThatFailsWhileItDecides(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"refuses": false, "loses its reply": true} {
		t.Run("and "+name+" is asked again", func(t *testing.T) {
			t.Parallel()
			each(t, firestoreDecides, func(t *testing.T, b *fixture) {
				b.numbered()
				e := b.submit("a")
				fails := 2
				b.records.on = func(after bool) error {
					if after != lost || fails == 0 {
						return nil
					}
					fails--
					return errStore
				}
				b.delivers(e, http.StatusOK)
				b.wantResult("a", 1, "a, run 1")
				if flushes := b.queue.of(taskqueue.KindFlush); len(flushes) != 0 {
					t.Errorf("%d flush tasks, want none", len(flushes))
				}
			})
		})
		t.Run("and "+name+" for long leaves the attempt to the redelivery", func(t *testing.T) {
			t.Parallel()
			each(t, firestoreDecides, func(t *testing.T, b *fixture) {
				b.numbered()
				e := b.submit("a")
				hasty := &hurried{}
				b.Runner.Clock = hasty
				b.records.on = func(after bool) error {
					if after != lost {
						return nil
					}
					hasty.passed.Store(int64(time.Minute))
					return errStore
				}
				b.delivers(e, http.StatusConflict)
				if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || r.Status != slot.Open {
					t.Errorf("in Redis %q, %v; want it open", r.Status, err)
				}
				b.lapse()
				b.records.on = nil
				b.delivers(e, http.StatusOK)
				if lost {
					b.wantResult("a", 1, "a, run 1")
				} else {
					b.wantResult("a", 2, "a, run 2")
				}
			})
		})
	}
	t.Run("and cannot be asked before a take-over keeps the target from being called", func(t *testing.T) {
		t.Parallel()
		each(t, firestoreDecides+", attempts: 2, backoff: {min: 1ms, max: 1ms}", func(t *testing.T, b *fixture) {
			b.behave = func(context.Context, target.Request) (target.Response, error) {
				return target.Response{Status: 503}, nil
			}
			e := b.submit("a")
			b.delivers(e, http.StatusOK) // a retry, which is no attempt
			b.records.err = errStore
			e = b.successor(e)
			b.delivers(e, http.StatusOK)
			if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || r.Status != slot.Open || r.Reason != "undecided" || len(b.calls) != 1 {
				t.Errorf("%q, %q, %v after %d runs; want it open, undecided, after one", r.Status, r.Reason, err, len(b.calls))
			}
			b.records.err = nil
			b.numbered()
			b.delivers(b.successor(e), http.StatusOK) // waits for its instant
			b.wantResult("a", 2, "a, run 1")
		})
	})
}

// hurried is the system's clock, some time ahead.
type hurried struct {
	clock.System
	passed atomic.Int64
}

func (h *hurried) Now() time.Time { return time.Now().Add(time.Duration(h.passed.Load())) }

// successor is the task that a retry left behind.
func (b *fixture) successor(e taskqueue.Envelope) taskqueue.Envelope {
	b.t.Helper()
	for _, task := range b.queue.of(taskqueue.KindRequest) {
		if task.Envelope.ID == e.ID && task.Envelope.K > e.K {
			return task.Envelope
		}
	}
	b.t.Fatalf("no task after k %d", e.K)
	return e
}

func TestARequestThatIsExhaustedIsDecidedToo(t *testing.T) {
	t.Parallel()
	each(t, firestoreDecides+", attempts: 1", func(t *testing.T, b *fixture) {
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: 500}, nil
		}
		e := b.submit("a")
		b.steps.on = func(verb string, after bool) error {
			if verb == "finish" && !after {
				if r := b.wantStored("a", record.Dead); r.Reason != "attempts" || r.Payload == nil {
					t.Errorf("before finish: %+v, want it dead for its attempts, with its payload", r)
				}
			}
			return nil
		}
		b.delivers(e, http.StatusOK)
		if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || r.Status != slot.Dead || r.Reason != "attempts" || !r.Durable {
			t.Errorf("in Redis %+v, %v; want it dead and durable", r.Record, err)
		}
		if n := b.records.puts.Load(); n != 1 {
			t.Errorf("%d writes, want 1", n)
		}
	})
}
