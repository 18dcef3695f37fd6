package ingest_test

import (
	"net/http/httptest"
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
