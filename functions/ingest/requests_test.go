package ingest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// listing is what a page of requests tells.
type listing struct {
	Requests []struct {
		ID, Status                   string
		Ticket, Attempts, Position   int64
		Submitted, Finished, Started string
		Target                       string
		Error                        struct{ Reason string }
	}
	NextPageToken string `json:"next_page_token"`
}

func (b *bundle) page(key, query string) listing {
	b.t.Helper()
	w := b.get("/v1/lanes/" + key + "/requests?" + query)
	if w.Code != 200 {
		b.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return body[listing](b.t, w)
}

// paged collects all pages of a list: "n status" for the request whose idempotency key is n. between is called between pages.
func (b *bundle) paged(key, query string, names map[string]string, between func()) (list []string) {
	b.t.Helper()
	for token := ""; ; {
		page := b.page(key, query+"&page_token="+token)
		for _, r := range page.Requests {
			list = append(list, names[r.ID]+" "+r.Status)
		}
		if token = page.NextPageToken; token == "" {
			return list
		}
		between()
	}
}

// crowd is a lane with ended, running and waiting requests: names are by id; release ends the one that runs.
func (b *bundle) crowd(key string) (names map[string]string, release func()) {
	b.t.Helper()
	names = map[string]string{}
	note := func(name, id string) { names[id] = name }
	for i := range 6 {
		name := fmt.Sprint(i)
		if i%2 == 1 {
			b.target.answer(422, "no")
		}
		w := b.submit(key, once(name))
		note(name, w.Header().Get("Seriatim-Request-Id"))
	}
	release = b.occupyWith(key, once("runs"))
	state, _ := b.inspect(key, "")
	note("runs", state.Running[0].Request)
	for i := range 4 {
		name := fmt.Sprint("w", i)
		note(name, wantAccepted(b.t, b.submit(key, once(name))).ID)
	}
	return names, release
}

var everything = []string{"0 done", "1 dead", "2 done", "3 dead", "4 done", "5 dead", "runs running", "w0 queued", "w1 queued", "w2 queued", "w3 queued"}

func TestRequestsOfALane(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lane-a", "fleeting-a"} { // durable, and not
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				b := setupOn(t, rdb)
				if got := b.page(key, ""); got.Requests == nil || len(got.Requests) != 0 || got.NextPageToken != "" {
					t.Errorf("of an unknown lane: %+v", got)
				}
				names, _ := b.crowd(key)
				for _, size := range []int{1, 2, 3, 1000} {
					if diff := cmp.Diff(everything, b.paged(key, fmt.Sprint("page_size=", size), names, func() {})); diff != "" {
						t.Errorf("in pages of %d (-want +got):\n%s", size, diff)
					}
				}
				for status, want := range map[string][]string{
					"done": {"0 done", "2 done", "4 done"}, "dead": {"1 dead", "3 dead", "5 dead"}, "running": {"runs running"},
					"queued": {"w0 queued", "w1 queued", "w2 queued", "w3 queued"}, "cancelled": nil, "unknown": nil,
				} {
					if diff := cmp.Diff(want, b.paged(key, "page_size=2&status="+status, names, func() {})); diff != "" {
						t.Errorf("%s (-want +got):\n%s", status, diff)
					}
				}
				b.wantDetails(key)
			})
		})
	}
}

// wantDetails holds the list against the states of the requests themselves.
func (b *bundle) wantDetails(key string) {
	b.t.Helper()
	for _, got := range b.page(key, "").Requests {
		want := got
		want.Error.Reason = ""
		state := b.get("/v1/lanes/" + key + "/requests/" + got.ID)
		if err := json.Unmarshal(state.Body.Bytes(), &want); err != nil {
			b.t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			b.t.Errorf("request %s (-its state +in the list):\n%s", got.ID, diff)
		}
	}
}

// TestPagesWhileRequestsEnd: what was there all the time is listed, and nothing twice.
func TestPagesWhileRequestsEnd(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lane-a", "fleeting-a"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				b := setupOn(t, rdb)
				names, release := b.crowd(key)
				steps := 0
				got := b.paged(key, "page_size=1", names, func() {
					steps++
					switch steps {
					case 3:
						b.cancelOne(key, names, "w1")
					case 5:
						names[wantAccepted(t, b.submit(key, once("late"))).ID] = "late"
					case 6:
						release()
					case 8:
						b.cancelOne(key, names, "w3")
						b.cancelOne(key, names, "w0") // that page is over
					}
				})
				want := strings.Split(strings.Join(everything, ",")+",late queued", ",")
				want[6], want[8], want[10] = "runs done", "w1 cancelled", "w3 cancelled"
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func (b *bundle) cancelOne(key string, names map[string]string, name string) {
	b.t.Helper()
	for id, n := range names {
		if n == name {
			wantStatus(b.t, b.call("DELETE", "/v1/lanes/"+key+"/requests/"+id, ""), 200, "cancelled")
		}
	}
}

// TestARequestIsListedOnItsWayToTheStore: Redis lists it until it is durable, also when that takes long.
func TestARequestIsListedOnItsWayToTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.records.err = errors.New("away")
	id := b.submit("lane-a", once("0")).Header().Get("Seriatim-Request-Id")
	b.records.err = nil
	names := map[string]string{id: "0"}
	if diff := cmp.Diff([]string{"0 done"}, b.paged("lane-a", "", names, func() {})); diff != "" {
		t.Errorf("before it is durable (-want +got):\n%s", diff)
	}
	if n := b.rdb.ZCard(t.Context(), slot.KeysOf("lane-a").Listed()).Val(); n != 1 {
		t.Errorf("%d listed in Redis, want 1", n)
	}
	wantStatus(t, b.submit("lane-a", once("0")), 200, "done") // a replay writes it through
	if diff := cmp.Diff([]string{"0 done"}, b.paged("lane-a", "", names, func() {})); diff != "" {
		t.Errorf("once it is durable (-want +got):\n%s", diff)
	}
	if n := b.rdb.ZCard(t.Context(), slot.KeysOf("lane-a").Listed()).Val(); n != 0 {
		t.Errorf("%d listed in Redis, want none: the store has it", n)
	}
}

func TestAListThatIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, query := range []string{"page_size=0", "page_size=1001", "page_token=x", "page_token=-1", "page_token=99999999999999999", "status=open"} {
		w := b.get("/v1/lanes/lane-a/requests?" + query)
		wantProblem(t, w, 400, problem.MalformedHeader)
		if name, _, _ := strings.Cut(query, "="); !strings.Contains(w.Body.String(), name) {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
	b.records.err = errors.New("away")
	wantProblem(t, b.get("/v1/lanes/lane-a/requests"), 503, problem.Unavailable)
	if w := b.get("/v1/lanes/fleeting-a/requests"); w.Code != 200 {
		t.Errorf("a lane that needs no store: %d %s", w.Code, w.Body)
	}
}
