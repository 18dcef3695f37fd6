package ingest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/problem"
)

func TestADuplicate(t *testing.T) {
	t.Parallel()
	t.Run("of a finished request is its response again, byte for byte", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.next(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.WriteHeader(203)
			_, _ = w.Write([]byte{0, '\n', 0xff})
		})
		first := b.submit("lane-a", once("k"))
		again := b.submit("lane-a", once(`"k"`))
		want := first.Header().Clone()
		want.Set("Idempotent-Replayed", "true")
		if diff := cmp.Diff(want, again.Header()); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if again.Code != 203 || again.Body.String() != first.Body.String() {
			t.Errorf("got %d %q, want 203 %q", again.Code, again.Body, first.Body)
		}
		if n := len(b.target.calls()); n != 1 {
			t.Errorf("the target was called %d times", n)
		}
	})
	t.Run("of a dead request says dead", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.target.answer(422, "no such account")
		wantStatus(t, b.submit("lane-a", once("k")), 422, "dead")
		again := b.submit("lane-a", once("k"))
		wantStatus(t, again, 422, "dead")
		if again.Body.String() != "no such account" || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed %q, headers %v", again.Body, again.Header())
		}
	})
	t.Run("of a waiting request is the same 202", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := wantAccepted(t, b.submit("lane-a", async, once("k")))
		again := wantAccepted(t, b.submit("lane-a", async, once("k")))
		if first.ID != again.ID || first.Ticket != again.Ticket {
			t.Errorf("first %+v, again %+v", first, again)
		}
	})
	t.Run("of a running request is a 202 that says so, with a task", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		running, hold := make(chan struct{}), make(chan struct{})
		b.target.next(func(http.ResponseWriter, *http.Request) { close(running); <-hold })
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- b.submit("lane-a", once("k")) }()
		<-running
		w := b.submit("lane-a", once("k"))
		wantStatus(t, w, 202, "running")
		got := body[accepted](t, w)
		if got.Status != "running" || got.Position != 0 || !got.Slot.IsZero() {
			t.Errorf("got %+v, want running, without position and slot", got)
		}
		if _, ok := b.queue.task(got.Ticket, 0); !ok {
			t.Error("acknowledged without a task: it dies with the instance that runs it")
		}
		close(hold)
		wantStatus(t, <-first, 200, "done")
	})
	t.Run("with another body, type or target is refused, whatever became of the first", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, first := range []header{async, {"X-None", ""}} {
			key := "lane-" + first.name
			b.submit(key, once("k"), first)
			wantProblem(t, b.call("POST", "/v1/lanes/"+key+"/requests", "other", once("k")), 422, problem.KeyReused)
			wantProblem(t, b.submit(key, once("k"), header{"Content-Type", "text/csv"}), 422, problem.KeyReused)
			wantProblem(t, b.submit(key, once("k"), header{"Seriatim-Target", "work"}), 422, problem.KeyReused)
		}
	})
	t.Run("is none without an idempotency key, nor in another lane", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.submit("lane-a")
		b.submit("lane-a")
		b.submit("lane-a", once("k"))
		b.submit("lane-b", once("k"))
		if n := len(b.target.calls()); n != 4 {
			t.Errorf("the target was called %d times, want 4", n)
		}
	})
}

func TestALongResponseIsReplayedAsItsPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("x", 300<<10)
	b.target.answer(200, long)
	first := b.submit("lane-a", once("k"))
	if first.Body.String() != long || first.Header().Get("Seriatim-Truncated") != "" {
		t.Errorf("the live caller got %d bytes of %d", first.Body.Len(), len(long))
	}
	again := b.submit("lane-a", once("k"))
	if again.Body.String() != long[:256<<10] || again.Header().Get("Seriatim-Truncated") != "true" {
		t.Errorf("replayed %d bytes, Seriatim-Truncated %q", again.Body.Len(), again.Header().Get("Seriatim-Truncated"))
	}
}
