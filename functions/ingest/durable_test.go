package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

var errStore = errors.New("the record store is down")

// wantReplay checks that an answer is the one that ended stored.
func wantReplay(t *testing.T, b *bundle, key string) {
	t.Helper()
	w := b.submit("lane-a", once(key))
	wantStatus(t, w, 203, "done")
	if w.Body.String() != "kept" || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%q, replayed %q; want the durable response", w.Body, w.Header().Get("Idempotent-Replayed"))
	}
	if n := len(b.target.calls()); n != 0 {
		t.Errorf("%d runs, want none", n)
	}
}

func TestAnAnswerIsDurableBeforeItIsTold(t *testing.T) {
	t.Parallel()
	t.Run("in the store, of which Redis then points to long responses", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		long := strings.Repeat("x", slot.FlushedResponse)
		b.target.answer(200, long)
		first := b.submit("lane-a", once("k"))
		if r, found, err := b.records.Memory.Get(t.Context(), "lane-a", first.Header().Get("Seriatim-Request-Id")); err != nil || !found || r.Status != record.Done {
			t.Fatalf("record %+v, found %t, %v", r, found, err)
		}
		for range 2 {
			if again := b.submit("lane-a", once("k")); again.Body.String() != long || len(b.target.calls()) != 1 {
				t.Errorf("replayed %d bytes after %d runs, want the same after one", again.Body.Len(), len(b.target.calls()))
			}
		}
		if w := b.get("/v1/lanes/lane-a/requests/" + first.Header().Get("Seriatim-Request-Id") + "/result"); w.Body.String() != long {
			t.Errorf("result of %d bytes", w.Body.Len())
		}
		// Out of reach, the response cannot be told; nothing runs again.
		b.records.err = errStore
		wantProblem(t, b.submit("lane-a", once("k")), 503, problem.Unavailable)
	})
	t.Run("or in a flush task", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.err = errStore
		wantStatus(t, b.submit("lane-a", once("k")), 200, "done")
		if flushes := b.queue.of(taskqueue.KindFlush); len(flushes) != 1 {
			t.Errorf("%d flush tasks, want 1", len(flushes))
		}
	})
	t.Run("else the outcome is unknown, and the next try tells", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.err = errStore
		b.queue.set(refused)
		wantProblem(t, b.submit("lane-a", once("k")), 503, problem.OutcomeUnknown)
		wantProblem(t, b.submit("lane-a", once("k")), 503, problem.OutcomeUnknown)
		b.records.err = nil
		wantStatus(t, b.submit("lane-a", once("k")), 200, "done")
		if n := len(b.target.calls()); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})
	t.Run("also to who only asks", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.records.err = errStore
		b.queue.set(refused)
		wantProblem(t, b.submit("lane-a", once("k")), 503, problem.OutcomeUnknown)
		path := "/v1/lanes/lane-a/requests/" + idempotency.RequestID("lane-a", "k")
		wantProblem(t, b.get(path), 503, problem.Unavailable)
		wantProblem(t, b.get(path+"/result"), 503, problem.Unavailable)
		b.queue.set(nil)
		for range 2 {
			if got := body[stateBody](t, b.get(path)); got.Status != "done" {
				t.Errorf("%+v, want it done", got)
			}
		}
		if flushes := b.queue.of(taskqueue.KindFlush); len(flushes) != 1 {
			t.Errorf("%d flush tasks, want 1", len(flushes))
		}
		b.records.err = nil
		wantStatus(t, b.get(path+"/result"), 200, "done")
		wantStatus(t, b.submit("lane-a", once("k")), 200, "done") // its key is not forgotten
	})
	t.Run("and a dead letter that is not kept yet is told to be running", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(422, "no")
		b.records.err = errStore
		b.queue.set(refused)
		wantProblem(t, b.submit("lane-a", once("k")), 503, problem.OutcomeUnknown)
		path := "/v1/lanes/lane-a/requests/" + idempotency.RequestID("lane-a", "k")
		if got := body[stateBody](t, b.get(path)); got.Status != "running" || got.Result.Body != "" || got.Error.Reason != "" {
			t.Errorf("%+v, want it running, with no end", got)
		}
		wantProblem(t, b.get(path+"/result"), 409, problem.NotFinished)
		b.records.err = nil
		wantStatus(t, b.submit("lane-a", once("k")), 422, "dead")
		if got := body[stateBody](t, b.get(path)); got.Status != "dead" {
			t.Errorf("%+v, want it dead", got)
		}
	})
	t.Run("and where others were told another outcome of the ticket, that one stands", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.submit("lane-a", once("other")) // for the ticket
		state, _ := b.inspect("lane-a", "")
		b.ended("k", func(r *record.Record) { r.Ticket = state.NextTicket })
		b.records.getErr = errStore // so that it runs again
		for range 2 {
			w := b.submit("lane-a", once("k"))
			wantStatus(t, w, 203, "done")
			if w.Body.String() != "kept" || len(b.target.calls()) != 2 {
				t.Errorf("%q after %d runs, want what others were told, and one run beside the first", w.Body, len(b.target.calls()))
			}
			b.records.getErr = nil
		}
	})
}

func TestRedisHasLostWhatEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		first := b.submit("lane-a", once("k"))
		b.lose()
		again := b.submit("lane-a", once("k"))
		wantStatus(t, again, 200, "done")
		if again.Body.String() != first.Body.String() || again.Header().Get("Seriatim-Ticket") != first.Header().Get("Seriatim-Ticket") {
			t.Errorf("got %q, ticket %s; want %q, %s", again.Body, again.Header().Get("Seriatim-Ticket"), first.Body, first.Header().Get("Seriatim-Ticket"))
		}
		wantProblem(t, b.call("POST", "/v1/lanes/lane-a/requests", "other", once("k")), 422, problem.KeyReused)
		if s, _ := b.inspect("lane-a", ""); s.Depth != 0 || len(b.target.calls()) != 1 {
			t.Errorf("depth %d after %d runs, want an empty lane after one", s.Depth, len(b.target.calls()))
		}
		// What waits in line is given up as well.
		wantStatus(t, b.submit("lane-a", once("k"), async), 200, "done")
		if s, _ := b.inspect("lane-a", ""); s.Depth != 0 || b.queue.count() != 0 {
			t.Errorf("depth %d, %d tasks; want none", s.Depth, b.queue.count())
		}
	})
}

func TestALostLaneRunsNothingWithoutTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.submit("lane-a", once("k"))
	b.lose()
	b.records.err = errStore
	wantProblem(t, b.submit("lane-a", once("k")), 503, problem.Unavailable)
	if s, _ := b.inspect("lane-a", ""); s.Depth != 0 || len(b.target.calls()) != 1 {
		t.Errorf("depth %d, %d runs; want an empty lane, and one from before", s.Depth, len(b.target.calls()))
	}
	b.records.err = nil
	wantStatus(t, b.submit("lane-a", once("k")), 200, "done")
}

func TestACancelledKeyIsFreeForTheStoreToo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ended("k", func(r *record.Record) { r.Status = record.Cancelled })
	wantStatus(t, b.submit("lane-a", once("k")), 200, "done")
}

func TestWithoutRedisTheStoreAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.ended("k", nil).ID
	b.slots.at(func(string, point) error { return errCut })
	wantReplay(t, b, "k")
	wantProblem(t, b.call("POST", "/v1/lanes/lane-a/requests", "other", once("k")), 422, problem.KeyReused)
	wantProblem(t, b.submit("lane-a", once("new")), 503, problem.Unavailable)
	wantProblem(t, b.submit("lane-a"), 503, problem.Unavailable)
	wantStatus(t, b.get("/v1/lanes/lane-a/requests/"+id), 200, "done")
	wantStatus(t, b.get("/v1/lanes/lane-a/requests/"+id+"/result"), 203, "done")
	wantProblem(t, b.get("/v1/lanes/lane-a/requests/"+idempotency.RequestID("lane-a", "new")), 503, problem.Unavailable)
	b.records.err = errStore
	wantProblem(t, b.submit("lane-a", once("k")), 503, problem.Unavailable)
}
