package ingest_test

import (
	"io"
	"net/http"
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

func TestTheStateOfARequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		path := func(key, idempotencyKey string) string {
			return "/v1/lanes/" + key + "/requests/" + idempotency.RequestID(key, idempotencyKey)
		}
		state := func(key, idempotencyKey, word string) map[string]any {
			t.Helper()
			w := b.get(path(key, idempotencyKey))
			wantStatus(t, w, 200, word)
			got := body[map[string]any](t, w)
			for _, name := range []string{"submitted", "started", "finished", "slot"} {
				text, ok := got[name].(string)
				if !ok {
					continue
				}
				if at, err := time.Parse("2006-01-02T15:04:05.000Z", text); err != nil || at.Before(time.Now().Add(-time.Hour)) {
					t.Errorf("%s is %q, want a time of now in RFC 3339, UTC, milliseconds", name, text)
				}
				got[name] = "a time"
			}
			delete(got, "ticket")
			return got
		}
		check := func(got, want map[string]any) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		}

		// A request that was done at once.
		b.submit("lane-a", once("done"), header{"Content-Type", "text/plain"})
		check(state("lane-a", "done", "done"), map[string]any{
			"id": idempotency.RequestID("lane-a", "done"), "key": "lane-a", "status": "done", "attempts": 1.0, "target": "work",
			"submitted": "a time", "started": "a time", "finished": "a time",
			"result": map[string]any{"status": 200.0, "content_type": "text/plain", "body": "payload"},
		})
		wantStatus(t, b.get(path("lane-a", "done")+"/result"), 200, "done")

		// One with a response that is no text.
		b.target.next(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) })
		b.submit("lane-a", once("binary"))
		if got := state("lane-a", "binary", "done")["result"].(map[string]any); got["body_base64"] != "/wA=" || got["body"] != nil {
			t.Errorf("result %v, want the body in base64", got)
		}

		// One that was given up with an answer, and one without.
		b.target.answer(410, "")
		b.submit("lane-a", once("dead"))
		wantStatus(t, b.get(path("lane-a", "dead")+"/result"), 410, "dead")
		b.target.next(abort)
		b.submit("once-a", once("mute"))
		check(state("once-a", "mute", "dead"), map[string]any{
			"id": idempotency.RequestID("once-a", "mute"), "key": "once-a", "status": "dead", "attempts": 1.0, "target": "work",
			"submitted": "a time", "started": "a time", "finished": "a time", "error": map[string]any{"reason": "attempts"},
		})
		w := b.get(path("once-a", "mute") + "/result")
		wantProblem(t, w, 502, problem.TargetFailed)
		wantStatus(t, w, 502, "dead")

		// Two that wait.
		b.submit("paced-a")
		b.submit("paced-a")
		b.submit("paced-a", once("second"))
		check(state("paced-a", "second", "queued"), map[string]any{
			"id": idempotency.RequestID("paced-a", "second"), "key": "paced-a", "status": "queued", "attempts": 0.0,
			"target": "work", "position": 2.0, "slot": "a time", "submitted": "a time",
		})
		w = b.get(path("paced-a", "second") + "/result")
		wantProblem(t, w, 409, problem.NotFinished)
		wantStatus(t, w, 409, "queued")
		if s := w.Header().Get("Retry-After"); len(s) < 2 {
			t.Errorf("Retry-After %q, want the time to its slot", s)
		}

		// One that failed and waits for its retry.
		b.target.answer(500, "boom")
		b.submit("lane-r", once("retried"))
		if got := state("lane-r", "retried", "queued")["error"]; !cmp.Equal(got, map[string]any{"reason": "status", "detail": "the target answered 500"}) {
			t.Errorf("error %v, want why the last attempt failed", got)
		}

		// One that runs.
		release := b.occupyWith("lane-b", once("running"))
		check(state("lane-b", "running", "running"), map[string]any{
			"id": idempotency.RequestID("lane-b", "running"), "key": "lane-b", "status": "running", "attempts": 1.0,
			"target": "work", "submitted": "a time", "started": "a time",
		})
		w = b.get(path("lane-b", "running") + "/result")
		wantProblem(t, w, 409, problem.NotFinished)
		wantStatus(t, w, 409, "running")
		release()
	})
}

func TestDurableRecordsAnswerWhatRedisForgot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.ended("k", nil).ID
	w := b.get("/v1/lanes/lane-a/requests/" + id + "/result")
	wantStatus(t, w, 203, "done")
	if w.Body.String() != "kept" || w.Header().Get("Seriatim-Ticket") != "7" {
		t.Errorf("got %q, headers %v", w.Body, w.Header())
	}
	wantStatus(t, b.get("/v1/lanes/lane-a/requests/"+id), 200, "done")
	id = b.ended("gone", func(r *record.Record) { r.Status, r.Response = record.Cancelled, nil }).ID
	w = b.get("/v1/lanes/lane-a/requests/" + id + "/result")
	wantProblem(t, w, 410, problem.Cancelled)
	wantStatus(t, w, 410, "cancelled")
}

func TestAStoredResponseThatCannotBeReadIsOurFault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.submit("lane-a", once("k"))
	id := idempotency.RequestID("lane-a", "k")
	b.rdb.Set(t.Context(), slot.KeysOf("lane-a").Response(id), "garbage", 0)
	wantProblem(t, b.submit("lane-a", once("k")), 500, problem.Internal)
	wantProblem(t, b.get("/v1/lanes/lane-a/requests/"+id), 500, problem.Internal)
	wantProblem(t, b.get("/v1/lanes/lane-a/requests/"+id+"/result"), 500, problem.Internal)
}

func TestTheStateOfALane(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		lane := func(key string) (map[string]any, string) {
			t.Helper()
			w := b.get("/v1/lanes/" + key)
			if w.Code != 200 {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			got := body[map[string]any](t, w)
			return got, got["why"].(map[string]any)["reason"].(string)
		}
		got, _ := lane("paced-a")
		want := map[string]any{
			"key": "paced-a", "depth": 0.0, "running": []any{}, "interval_ms": 0.0, "paused": false,
			"policy": map[string]any{"name": "paced-*", "spacing_ms": 60000.0, "burst": 1.0, "concurrency": 1.0},
			"why":    map[string]any{"reason": "idle", "detail": "No request waits or runs."},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("an unknown lane is an empty one (-want +got):\n%s", diff)
		}

		release := b.occupy("paced-a")
		got, reason := lane("paced-a")
		if running := got["running"].([]any); reason != "running" || len(running) != 1 || got["depth"] != 1.0 || got["head"] != nil {
			t.Errorf("one runs, but the lane says %v", got)
		}
		second := wantAccepted(t, b.submit("paced-a"))
		third := wantAccepted(t, b.submit("paced-a"))
		if got, reason = lane("paced-a"); reason != "running" || got["head"] != float64(second.Ticket) || got["next_start"] != nil {
			t.Errorf("the head waits for the one that runs, but the lane says %v", got)
		}
		release()
		got, reason = lane("paced-a")
		if reason != "pace" || got["depth"] != 2.0 || got["next_start"] != got["why"].(map[string]any)["until"] {
			t.Errorf("the head waits for its pace, but the lane says %v", got)
		}
		if eta, err := time.Parse(time.RFC3339, got["eta"].(string)); err != nil || !eta.Equal(third.Slot) {
			t.Errorf("eta %v, want the slot %v of the last", got["eta"], third.Slot)
		}

		b.submit("paced-b")
		if got, reason = lane("paced-b"); reason != "idle" || got["next_start"] == nil {
			t.Errorf("an idle lane whose pace holds says %v", got)
		}
		b.submit("async-a")
		if _, reason = lane("async-a"); reason != "unconfirmed" {
			t.Errorf("reason %q for a head that nobody has confirmed", reason)
		}
		b.submit("async-a", once("k"))
		b.submit("async-a", once("k"))
		a := wantAccepted(t, b.submit("async-b", once("k")))
		b.submit("async-b", once("k")) // the duplicate confirms
		if got, reason = lane("async-b"); reason != "overdue" || got["why"].(map[string]any)["ticket"] != float64(a.Ticket) {
			t.Errorf("a head that may start and does not says %v", got)
		}
		b.target.answer(500, "boom")
		b.submit("lane-a")
		got, reason = lane("lane-a")
		if detail := got["why"].(map[string]any)["detail"].(string); reason != "retry" || !strings.Contains(detail, "Attempt 1 of the head failed (status)") {
			t.Errorf("a head that failed says %v", got)
		}
	})
}

func TestAHeadRequestHasNoBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := serve(t, b.handler)
	for _, path := range []string{"/v1/lanes/lane-a", "/v1/health"} {
		response, err := http.Head(server + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 200 || len(text) != 0 || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("HEAD %s: %d, %q, %v", path, response.StatusCode, text, response.Header)
		}
	}
}
