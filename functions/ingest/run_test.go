package ingest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// abort breaks the connection off without an answer.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestAnImmediateRunThatFails(t *testing.T) {
	t.Parallel()
	t.Run("in a way worth a retry is queued in its place", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			b := setupOn(t, rdb)
			b.target.answer(503, "try later")
			got := wantAccepted(t, b.submit("lane-a", once("k")))
			state, request := b.inspect("lane-a", got.ID)
			if state.Next.Ticket != got.Ticket || got.Position != 1 || got.Slot.UnixMilli() != state.HeadNotBefore {
				t.Errorf("answered %+v, lane %+v", got, state)
			}
			if request.Attempts != 1 || request.Reason != "status" {
				t.Errorf("record %+v, want one attempt and why it failed", request)
			}
			if _, ok := b.queue.task(got.Ticket, 0); !ok {
				t.Fatal("acknowledged without a task")
			}
			if b.queue.count() != 1 {
				t.Errorf("%d calls of the queue, want the one task: it is the head's own, due in time", b.queue.count())
			}
		})
	})
	t.Run("for good passes the target's answer on", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(404, "no such product")
		w := b.submit("lane-a")
		wantStatus(t, w, 404, "dead")
		if w.Body.String() != "no such product" || w.Header().Get("Content-Type") != "" && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("got %q of %q", w.Body, w.Header().Get("Content-Type"))
		}
	})
	t.Run("with its last attempt passes the target's answer on", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(500, "boom")
		wantStatus(t, b.submit("once-a"), 500, "dead")
	})
	t.Run("without an answer is 502, and so is its replay", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(abort)
		for range 2 {
			w := b.submit("once-a", once("k"))
			wantProblem(t, w, 502, problem.TargetFailed)
			wantStatus(t, w, 502, "dead")
		}
	})
	t.Run("by its timeout is 504", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // only then does the server notice that the caller left
			<-r.Context().Done()
		})
		w := b.submit("hasty-a", once("k"))
		wantProblem(t, w, 504, problem.TargetTimeout)
		wantStatus(t, w, 504, "dead")
	})
	t.Run("by a response without content type guesses none", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		})
		server := httptest.NewServer(b.handler)
		defer server.Close()
		response, err := http.Post(server.URL+"/v1/lanes/lane-a/requests", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got, ok := response.Header["Content-Type"]; ok {
			t.Errorf("Content-Type %q", got)
		}
	})
}

func TestAClientThatLeavesCancelsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(b.handler)
	t.Cleanup(server.Close)
	ctx, leave := context.WithCancel(t.Context())
	finished := make(chan struct{})
	b.slots.at(func(verb string, at point) error {
		if verb == "finish" && at == after {
			close(finished)
		}
		return nil
	})
	b.target.next(func(w http.ResponseWriter, r *http.Request) {
		leave()
		// The answer of the target waits until the client is gone.
		<-ctx.Done()
		_, _ = io.WriteString(w, "done anyway")
	})
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/lanes/lane-a/requests", strings.NewReader("payload"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Fatal("the client did not leave")
	}
	<-finished
	w := b.call("POST", "/v1/lanes/lane-a/requests", "payload", once("k"))
	wantStatus(t, w, 200, "done")
	if w.Body.String() != "done anyway" {
		t.Errorf("got %q", w.Body)
	}
}

func TestARunLeavesAKickWhereNobodyWillBeThere(t *testing.T) {
	t.Parallel()
	t.Run("for a head that came meanwhile and has been due", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("brief-a")
		wantAccepted(t, b.submit("brief-a"))
		b.waitRedis(20 * time.Millisecond) // its task was due at once: it is late now
		release()
		if kicks := b.queue.of(taskqueue.KindKick); len(kicks) != 1 {
			t.Errorf("%d kicks, want 1", len(kicks))
		}
	})
	t.Run("though that fails, the answer is the run's", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		wait := make(chan *httptest.ResponseRecorder)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			wantAccepted(t, b.submit("lane-a"))
			b.waitRedis(20 * time.Millisecond)
			b.queue.set(refused)
		})
		go func() { wait <- b.submit("lane-a") }()
		wantStatus(t, <-wait, 200, "done")
		if !strings.Contains(b.log.String(), "leaving a kick failed") {
			t.Error("the failure is not in the log")
		}
	})
	t.Run("but not for a lane that is paced by a task in time", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		release := b.occupy("paced-a")
		wantAccepted(t, b.submit("paced-a"))
		release()
		if kicks := b.queue.of(taskqueue.KindKick); len(kicks) != 0 {
			t.Errorf("%d kicks, want none", len(kicks))
		}
	})
}
