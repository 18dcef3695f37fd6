package ingest_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// decidedID is the id of the request that these tests submit to a lane where Firestore decides.
var decidedID = idempotency.RequestID("decided-a", "k")

func (b *bundle) submitDecided() *httptest.ResponseRecorder { return b.submit("decided-a", once("k")) }

// wantTold checks that a client is told that result, whenever and however it asks, and that it is the one in the store.
func (b *bundle) wantTold(w *httptest.ResponseRecorder, status int, text string) {
	b.t.Helper()
	stored, found, err := b.records.Memory.Get(b.t.Context(), "decided-a", decidedID)
	if err != nil || !found {
		b.t.Fatalf("in the store: %t, %v", found, err)
	}
	for what, w := range map[string]*httptest.ResponseRecorder{
		"answer": w, "replay": b.submitDecided(), "result": b.get("/v1/lanes/decided-a/requests/" + decidedID + "/result"),
	} {
		wantStatus(b.t, w, status, string(stored.Status))
		if w.Body.String() != text {
			b.t.Errorf("%s: %q, want %q", what, w.Body, text)
		}
	}
}

func TestAnAnswerThatFirestoreDecides(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		b.submit("decided-warm", once("k"))
		count := &trips{}
		rdb.AddHook(count)
		b.records.puts.Store(0)
		b.slots.at(func(verb string, at point) error {
			if _, found, _ := b.records.Memory.Get(t.Context(), "decided-a", decidedID); verb == "finish" && at == before && !found {
				t.Error("finished before the store had decided")
			}
			return nil
		})
		w := b.submitDecided()
		if diff := cmp.Diff([]int64{4, 1}, []int64{count.n.Load(), b.records.puts.Load()}); diff != "" {
			t.Errorf("calls of Redis (reserve, ending, finish, flushed) and writes (-want +got):\n%s", diff)
		}
		b.wantTold(w, 200, "payload")
		if n := len(b.target.calls()); n != 2 { // and warm's
			t.Errorf("%d runs, want one", n-1)
		}
	})
}

func TestAnAnswerThatAnotherRunDecided(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]point{"before the store is asked": before, "after it has decided": after} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.records.putting = func(put func() (record.Record, error)) (held record.Record, err error) {
				b.records.putting = nil
				if at == after {
					held, err = put()
				}
				// Elsewhere the request runs to its end, after the lease of this run.
				g := b.takeOver("decided-a")
				theirs := record.Record{
					Key: "decided-a", ID: decidedID, Fingerprint: idempotency.Fingerprint("decided-a", "", "", []byte("payload")), Ticket: g.Ticket,
					Fence: g.Fence, Status: record.Done, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
					Response: []byte(`{"status":203,"content_type":"text/plain"}` + "\nof another run"),
				}
				if theirs, err := b.records.Memory.Put(t.Context(), theirs); err != nil {
					t.Fatal(err)
				} else {
					b.finish("decided-a", g, slot.Accept, string(theirs.Response))
				}
				if at == after {
					return held, err
				}
				return put()
			}
			if w := b.submitDecided(); at == after {
				b.wantTold(w, 200, "payload")
			} else {
				b.wantTold(w, 203, "of another run")
			}
		})
	}
	t.Run("and Redis forgot", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.putting = func(put func() (record.Record, error)) (record.Record, error) {
			b.records.putting = nil
			b.ended("k", func(r *record.Record) {
				r.Key, r.ID, r.Ticket, r.Fence = "decided-a", decidedID, b.slots.reserved.Load().Ticket, 1
				r.Fingerprint = idempotency.Fingerprint("decided-a", "", "", []byte("payload"))
			})
			return put()
		}
		w := b.submitDecided()
		if w.Header().Get("Idempotent-Replayed") != "true" {
			t.Error("it is not said to be a replay")
		}
		b.wantTold(w, 203, "kept")
	})
	t.Run("to be cancelled", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.putting = func(put func() (record.Record, error)) (record.Record, error) {
			b.records.putting = nil
			b.ended("k", func(r *record.Record) {
				r.Key, r.ID, r.Ticket, r.Status = "decided-a", decidedID, b.slots.reserved.Load().Ticket, record.Cancelled
			})
			return put()
		}
		wantProblem(t, b.submitDecided(), 410, problem.Cancelled)
		if _, r := b.inspect("decided-a", decidedID); r.Status != slot.Cancelled {
			t.Errorf("in Redis %q, want it cancelled", r.Status)
		}
	})
}

func TestAnAnswerThatCannotBeDecided(t *testing.T) {
	t.Parallel()
	for name, landed := range map[string]bool{"the store is away": false, "the store's replies are lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.records.putting = func(put func() (record.Record, error)) (record.Record, error) {
				if landed {
					_, _ = put()
				}
				b.clock.advance(time.Minute)
				return record.Record{}, errStore
			}
			wantProblem(t, b.submitDecided(), 503, problem.OutcomeUnknown)
			b.records.putting = nil
			wantStatus(t, b.submitDecided(), 202, "running")
			if _, r := b.inspect("decided-a", decidedID); r.Status != slot.Open || b.queue.count() != 1 {
				t.Errorf("%q with %d tasks; want it open, with a task", r.Status, b.queue.count())
			}
		})
	}
}

func TestAnInstanceDiesWhileFirestoreDecides(t *testing.T) {
	t.Parallel()
	at := func(verb string, where point) func(*bundle) {
		return func(b *bundle) {
			b.slots.at(func(v string, at point) error {
				if v == verb && at == where {
					b.slots.at(func(string, point) error { return nil })
					die()
				}
				return nil
			})
		}
	}
	for name, death := range map[string]func(*bundle){
		"before it asks how the attempt ends": at("ending", before),
		"before the store decides":            at("ending", after),
		"after the store has decided":         at("finish", before),
		"after finish":                        at("finish", after),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			death(b)
			if !dying(t, func() { b.submitDecided() }) {
				t.Fatal("the instance did not die there")
			}
			b.wantAnswered("decided-a", b.submitDecided())
			if n := len(b.target.calls()); n != 1 {
				t.Errorf("%d runs, want one", n)
			}
		})
	}
}

// diesDecided has an instance die between the store's decision and FINISH, and the lease lapse. It returns the ticket.
func (b *bundle) diesDecided(key string) int64 {
	b.t.Helper()
	b.slots.at(func(verb string, at point) error {
		if verb == "finish" && at == before {
			b.slots.at(func(string, point) error { return nil })
			die()
		}
		return nil
	})
	if !dying(b.t, func() { b.submit(key, once("k")) }) {
		b.t.Fatal("the instance did not die")
	}
	b.lapse(key)
	return b.slots.reserved.Load().Ticket
}

func TestWhatWasDecidedStaysWhenItsPlaceIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(*bundle, int64) error{
		"voided": func(b *bundle, ticket int64) error {
			_, err := b.store.Void(b.t.Context(), b.lane("decided-a"), decidedID, ticket, true)
			return err
		},
		"purged": func(b *bundle, _ int64) error {
			_, err := b.store.Purge(b.t.Context(), b.lane("decided-a"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				b := setupOn(t, rdb)
				if err := gone(b, b.diesDecided("decided-a")); err != nil {
					t.Fatal(err)
				}
				b.wantTold(b.submitDecided(), 200, "payload")
				if n := len(b.target.calls()); n != 1 {
					t.Errorf("%d runs, want one", n)
				}
			})
		})
	}
}

func TestNobodySaysOtherwiseThanWasDecided(t *testing.T) {
	t.Parallel()
	judgedID := idempotency.RequestID("judged-a", "k")
	path := "/v1/lanes/judged-a/requests/" + judgedID
	t.Run("of a request whose outcome is unknown", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.diesDecided("judged-a")
		wantStatus(t, b.call("POST", path+"/resolve", `{"as":"dead"}`), 200, "queued") // it comes to what the store has when it runs
	})
	t.Run("by a cancel", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.diesDecided("decided-a")
		wantProblem(t, b.call("DELETE", "/v1/lanes/decided-a/requests/"+decidedID, ""), 409, problem.Conflict)
		if _, r := b.inspect("decided-a", decidedID); r.Status != slot.Open {
			t.Errorf("in Redis %q, want it open", r.Status)
		}
	})
	t.Run("but of what was not, an operator's word is the result", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.putting = func(func() (record.Record, error)) (record.Record, error) { die(); panic("not reached") }
		if !dying(t, func() { b.submit("judged-a", once("k")) }) {
			t.Fatal("the instance did not die")
		}
		b.records.putting = nil
		b.lapse("judged-a")
		wantStatus(t, b.call("POST", path+"/resolve", `{"as":"dead"}`), 200, "dead")
		stored, _, err := b.records.Memory.Get(t.Context(), "judged-a", judgedID)
		if err != nil || stored.Status != record.Dead || stored.Reason != "resolved" {
			t.Errorf("in the store %+v, %v; want it dead", stored, err)
		}
	})
	t.Run("and of a request on which its lane does not stand nothing is kept: a dead letter without its payload would run empty", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.diesDecided("judged-a")
		behind := idempotency.RequestID("judged-a", "behind")
		wantStatus(t, b.submit("judged-a", once("behind")), 202, "queued")
		wantProblem(t, b.call("POST", "/v1/lanes/judged-a/requests/"+behind+"/resolve", `{"as":"dead"}`), 409, problem.Conflict)
		if r, found, err := b.records.Memory.Get(t.Context(), "judged-a", behind); found || err != nil {
			t.Errorf("in the store %+v, %v; want nothing", r, err)
		}
	})
	t.Run("and who comes too late for the run, but not for its result, is told so", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.putting = func(func() (record.Record, error)) (record.Record, error) { die(); panic("not reached") }
		if !dying(t, func() { b.submitDecided() }) {
			t.Fatal("the instance did not die")
		}
		b.lapse("decided-a")
		b.records.putting = func(put func() (record.Record, error)) (record.Record, error) {
			b.records.putting = nil
			defer b.startElsewhere("decided-a")
			return put()
		}
		w := b.call("DELETE", "/v1/lanes/decided-a/requests/"+decidedID, "")
		wantProblem(t, w, 409, problem.Conflict)
		if !strings.Contains(w.Body.String(), "its result will be that it was cancelled") {
			t.Errorf("%s, want that the result is cancelled all the same", w.Body)
		}
		stored, _, err := b.records.Memory.Get(t.Context(), "decided-a", decidedID)
		if err != nil || stored.Status != record.Cancelled {
			t.Errorf("in the store %+v, %v; want it cancelled", stored, err)
		}
	})
	t.Run("and not where the store cannot be asked", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.diesDecided("judged-a")
		b.records.putting = func(func() (record.Record, error)) (record.Record, error) { return record.Record{}, errStore }
		wantProblem(t, b.call("POST", path+"/resolve", `{"as":"dead"}`), 503, problem.Unavailable)
	})
}
