package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// letter is what a list tells of a dead letter.
type letter struct {
	ID, Status string
	Parked     bool
	Error      struct{ Reason string }
}

// letters collects the pages of a lane's dead letters.
func (b *bundle) letters(key string, size int) (pages [][]letter) {
	b.t.Helper()
	for token := ""; ; {
		w := b.get(fmt.Sprintf("/v1/lanes/%s/dead-letters?page_size=%d&page_token=%s", key, size, token))
		if w.Code != 200 {
			b.t.Fatalf("%d %s", w.Code, w.Body)
		}
		page := body[struct {
			DeadLetters   []letter `json:"dead_letters"`
			NextPageToken string   `json:"next_page_token"`
		}](b.t, w)
		if len(page.DeadLetters) > 0 {
			pages = append(pages, page.DeadLetters)
		}
		if token = page.NextPageToken; token == "" {
			return pages
		}
	}
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lane-a", "fleeting-a"} { // durable, and not
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				b := setupOn(t, rdb)
				if got := b.letters(key, 10); len(got) != 0 {
					t.Errorf("of an unknown lane: %+v", got)
				}
				var want []string
				for i := range 5 {
					b.target.answer(422, "no")
					w := b.submit(key, once(fmt.Sprint(i)), header{"Content-Type", "text/plain"})
					wantStatus(t, w, 422, "dead")
					want = append(want, w.Header().Get("Seriatim-Request-Id"))
					wantStatus(t, b.submit(key), 200, "done")
					b.waitRedis(2 * time.Millisecond) // of two in one millisecond either may be the last
				}
				var got []string
				for _, page := range b.letters(key, 2) {
					for _, l := range page {
						got = append([]string{l.ID}, got...)
						if l.Status != "dead" || l.Error.Reason == "" || l.Parked {
							t.Errorf("%+v, want it dead, and why", l)
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("dead letters, the first given up first (-want +got):\n%s", diff)
				}

				// All of them, with what it takes to run them again; each can be taken off.
				records, l := b.config.Records.(lane.Records), lane.Lane{Slot: b.lane(key)}
				l.Policy, _ = b.doc.Lane(key)
				got = nil
				if err := records.EachDeadLetter(t.Context(), l, func(r record.Record) error {
					got = append(got, r.ID)
					if string(r.Payload.Body) != "payload" || r.Payload.IdempotencyKey != fmt.Sprint(len(got)-1) {
						t.Errorf("payload %+v", r.Payload)
					}
					return records.RemoveDeadLetter(t.Context(), l, r)
				}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("in ticket order (-want +got):\n%s", diff)
				}
				if got := b.letters(key, 10); len(got) != 0 {
					t.Errorf("after all were taken off: %+v", got)
				}
				if _, found, err := records.DeadLetter(t.Context(), l, want[0]); found || err != nil {
					t.Errorf("taken off, yet found: %t, %v", found, err)
				}
			})
		})
	}
}

func TestAPageThatIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, query := range []string{"page_size=0", "page_size=x", "page_size=1001", "page_token=x"} {
		for _, key := range []string{"lane-a", "fleeting-a"} {
			w := b.get("/v1/lanes/" + key + "/dead-letters?" + query)
			wantProblem(t, w, 400, problem.MalformedHeader)
			if name, _, _ := strings.Cut(query, "="); !strings.Contains(w.Body.String(), name) {
				t.Errorf("%s: %s", query, w.Body)
			}
		}
	}
}
