package ingest_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// die submits a request whose target refuses it for good, and returns its id.
func (b *bundle) die(key, name string) string {
	b.t.Helper()
	b.target.answer(422, "no")
	w := b.call("POST", "/v1/lanes/"+key+"/requests", "body of "+name, once(name), header{"Content-Type", "text/x"}, header{"X-Tenant", "7"})
	wantStatus(b.t, w, 422, "dead")
	return w.Header().Get("Seriatim-Request-Id")
}

// listed are the ids of a lane's dead letters.
func (b *bundle) listed(key string) (ids []string) {
	b.t.Helper()
	for _, page := range b.letters(key, 100) {
		for _, l := range page {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

func TestRedrive(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"lane", "fleeting"} { // durable, and not
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				t.Run("a dead letter runs again at the tail, under its id, with all that it was", func(t *testing.T) {
					b, key := setupOn(t, rdb), kind+"-one"
					id := b.die(key, "k")
					path := "/v1/lanes/" + key + "/dead-letters/" + id + "/redrive"
					release := b.occupy(key)
					defer release()
					w := b.call("POST", path, "")
					if got := wantAccepted(t, w); got.ID != id || got.Position != 1 || w.Header().Get("Location") != "/v1/lanes/"+key+"/requests/"+id {
						t.Errorf("%+v %v", got, w.Header())
					}
					if ids := b.listed(key); len(ids) != 0 {
						t.Errorf("still listed: %v", ids)
					}
					wantAccepted(t, b.call("POST", "/v1/lanes/"+key+"/requests", "body of k", once("k"), header{"Content-Type", "text/x"})) // a duplicate joins
					wantProblem(t, b.call("POST", path, ""), 409, problem.Conflict)
					e := b.queue.of(taskqueue.KindRequest)[0].Envelope
					want := taskqueue.Envelope{ID: id, Body: []byte("body of k"), IdempotencyKey: "k", Target: "work",
						Header: http.Header{"Content-Type": {"text/x"}, "X-Tenant": {"7"}}}
					if diff := cmp.Diff(want, taskqueue.Envelope{ID: e.ID, Body: e.Body, IdempotencyKey: e.IdempotencyKey, Target: e.Target, Header: e.Header}); diff != "" {
						t.Errorf("envelope (-want +got):\n%s", diff)
					}
					b.end(e, release, 200, "made")
					if w := b.get("/v1/lanes/" + key + "/requests/" + id + "/result"); w.Code != 200 || w.Body.String() != "made" {
						t.Errorf("result: %d %s", w.Code, w.Body)
					}
				})
				t.Run("all run again in the order of their tickets", func(t *testing.T) {
					b, key := setupOn(t, rdb), kind+"-all"
					var want []string
					for i := range 5 {
						want = append(want, b.die(key, fmt.Sprint(i)))
					}
					release := b.occupy(key)
					defer release()
					w := b.call("POST", "/v1/lanes/"+key+"/dead-letters/redrive", "")
					if w.Code != 202 || w.Body.String() != `{"redriven":5,"more":false}` {
						t.Errorf("%d %s", w.Code, w.Body)
					}
					var got []string
					for ticket := int64(0); ; {
						next := taskqueue.Envelope{}
						for _, task := range b.queue.of(taskqueue.KindRequest) {
							if e := task.Envelope; e.Ticket > ticket && (next.Ticket == 0 || e.Ticket < next.Ticket) {
								next = e
							}
						}
						if next.Ticket == 0 {
							break
						}
						ticket, got = next.Ticket, append(got, next.ID)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("order (-want +got):\n%s", diff)
					}
					if w := b.call("POST", "/v1/lanes/"+key+"/dead-letters/redrive", ""); w.Body.String() != `{"redriven":0,"more":false}` {
						t.Errorf("again: %d %s", w.Code, w.Body)
					}
				})
				t.Run("a queue that takes no task leaves it a dead letter", func(t *testing.T) {
					b, key := setupOn(t, rdb), kind+"-refused"
					id := b.die(key, "k")
					b.queue.set(refused)
					wantProblem(t, b.call("POST", "/v1/lanes/"+key+"/dead-letters/redrive", ""), 503, problem.Unavailable)
					b.queue.set(nil)
					if diff := cmp.Diff([]string{id}, b.listed(key)); diff != "" {
						t.Errorf("listed (-want +got):\n%s", diff)
					}
					wantAccepted(t, b.call("POST", "/v1/lanes/"+key+"/dead-letters/"+id+"/redrive", ""))
				})
				t.Run("what is not dead is refused", func(t *testing.T) {
					b, key := setupOn(t, rdb), kind+"-other"
					w := b.submit(key)
					wantStatus(t, w, 200, "done")
					id := w.Header().Get("Seriatim-Request-Id")
					wantProblem(t, b.call("POST", "/v1/lanes/"+key+"/dead-letters/"+id+"/redrive", ""), 409, problem.Conflict)
					wantProblem(t, b.call("POST", "/v1/lanes/"+key+"/dead-letters/aaaaaaaaaaaaaaaaaaaaaaaaaa/redrive", ""), 404, problem.UnknownRequest)
				})
			})
		})
	}
}

func TestRedriveInPlace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		for _, path := range []string{"/dead-letters/%s/redrive", "/dead-letters/redrive"} {
			b, key := setupOn(t, rdb), "parks-"+fmt.Sprint(len(path))
			b.target.answer(422, "never")
			head := wantAccepted(t, b.submit(key))
			wantAccepted(t, b.submit(key))
			if ids := b.listed(key); len(ids) != 1 || ids[0] != head.ID {
				t.Errorf("listed %v, want the parked head", ids)
			}
			if path == "/dead-letters/%s/redrive" {
				path = fmt.Sprintf(path, head.ID)
			}
			w := b.call("POST", "/v1/lanes/"+key+path, "")
			if w.Code != 202 || b.kicks() != 1 {
				t.Errorf("%d %s and %d kicks, want 202 and one", w.Code, w.Body, b.kicks())
			}
			if lane := body[laneBody](t, b.get("/v1/lanes/"+key)); lane.Depth != 2 || lane.Why.Reason == "parked" {
				t.Errorf("lane: %+v, want both waiting and nobody parked", lane)
			}
		}
	})
}

func TestADeadRecordThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.die("lane-a", "k")
	b.records.deleteErr = errors.New("away")
	wantAccepted(t, b.call("POST", "/v1/lanes/lane-a/dead-letters/"+id+"/redrive", ""))
	// It is listed still; another redrive joins the first, and the old record does not answer for the new ticket.
	wantAccepted(t, b.call("POST", "/v1/lanes/lane-a/dead-letters/"+id+"/redrive", ""))
	if n := len(b.queue.of(taskqueue.KindRequest)); n != 1 {
		t.Errorf("%d tasks, want one", n)
	}
	if state := body[stateBody](t, b.get("/v1/lanes/lane-a/requests/"+id)); state.Status != "queued" {
		t.Errorf("state %+v, want queued", state)
	}
}

func TestARedriveOfWhatAFailoverHasUndoneKeepsTheRecord(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	b, ctx, before := setupOn(t, rdb), t.Context(), map[string]string{}
	b.target.next(func(w http.ResponseWriter, _ *http.Request) {
		for _, key := range rdb.Keys(ctx, "seriatim:{lane-a}:*").Val() {
			before[key] = rdb.Dump(ctx, key).Val() // what the replica has
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
	})
	w := b.submit("lane-a", once("k"))
	wantStatus(t, w, 422, "dead")
	id := w.Header().Get("Seriatim-Request-Id")
	for key, value := range before {
		if err := rdb.RestoreReplace(ctx, key, time.Hour, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	// Redis takes it for one that runs. Its end is known to the store alone, and stays there until somebody looks for its task.
	wantStatus(t, b.call("POST", "/v1/lanes/lane-a/dead-letters/"+id+"/redrive", ""), 202, "running")
	if diff := cmp.Diff([]string{id}, b.listed("lane-a")); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
