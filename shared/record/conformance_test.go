package record_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/record"
)

func TestPut(t *testing.T) {
	t.Parallel()

	t.Run("a record comes back as it was put", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			wantNone(t, s, lane, "a")
			never := Record{Key: lane, ID: "c", Ticket: 3, Status: Cancelled, Finished: now, ExpireAt: ever}
			for _, r := range []Record{dead("a", 1), done("b", 2), never} {
				wantHeld(t, "held", put(t, s, r), r)
				wantStored(t, s, r)
			}
		})
	})
	t.Run("put again is a success and changes nothing", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			first := put(t, s, done("a", 1))
			again := done("a", 1)
			again.Response = []byte("other")
			wantHeld(t, "held", put(t, s, again), first)
			wantStored(t, s, first)
		})
	})
	t.Run("of two outcomes of one ticket the first stays and is told", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			first := put(t, s, done("a", 1))
			for _, fence := range []int64{first.Fence - 1, first.Fence + 1} {
				other := dead("a", 1)
				other.Fence = fence
				wantHeld(t, "held", put(t, s, other), first)
			}
			wantStored(t, s, first)
		})
	})
	t.Run("a higher ticket replaces all of a lower one, and is not undone by it", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			put(t, s, dead("a", 1))
			next := Record{Key: lane, ID: "a", Ticket: 2, Status: Done, Finished: now, ExpireAt: ever}
			wantHeld(t, "held", put(t, s, next), next)
			wantHeld(t, "held", put(t, s, dead("a", 1)), next)
			wantStored(t, s, next)
		})
	})
	t.Run("what is done stays, whatever place the request has got since", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			first := put(t, s, done("a", 1))
			never := Record{Key: lane, ID: "a", Ticket: 2, Status: Cancelled, Finished: now, ExpireAt: ever}
			for _, other := range []Record{done("a", 2), dead("a", 2), never} {
				wantHeld(t, "held", put(t, s, other), first)
			}
			wantStored(t, s, first)
		})
	})
	t.Run("what is done gives way to what was submitted when its time was over", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			first := put(t, s, done("a", 1))
			next := done("a", 2)
			next.Submitted = first.ExpireAt.Add(-time.Second) // Redis knew nothing of the first any more, whose time is not over by this store's clock
			wantHeld(t, "held", put(t, s, next), next)
			wantStored(t, s, next)
		})
	})
	t.Run("one request's record is no other's", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			for i, name := range hostile {
				r := done("a", int64(i+1))
				r.Key, r.ID = name[0], name[1]
				put(t, s, r)
			}
			for i, name := range hostile {
				r := done("a", int64(i+1))
				r.Key, r.ID = name[0], name[1]
				wantStored(t, s, r)
			}
		})
	})
	t.Run("of many at once the highest ticket stays", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			errs := make(chan error)
			for i := range 20 {
				go func() {
					_, err := s.Put(context.Background(), dead("a", int64(i+1)))
					for errors.Is(err, ErrUnavailable) { // said so, and may be repeated
						_, err = s.Put(context.Background(), dead("a", int64(i+1)))
					}
					errs <- err
				}()
			}
			for range 20 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			wantStored(t, s, dead("a", 20))
		})
	})
	t.Run("the largest record fits", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, s store) {
			r := dead("a", 1)
			r.Response, r.Payload.Body = make([]byte, MaxResponse), make([]byte, MaxBody)
			r.Reason, r.Target, r.Fingerprint = strings.Repeat("w", 512), strings.Repeat("w", 512), strings.Repeat("w", 512)
			r.Payload.IdempotencyKey, r.Payload.Traceparent = "", ""
			r.Payload.Header = http.Header{"X": {strings.Repeat("<", MaxHeader-len("{\"header\":{\"X\":[\"\"]}}\n"))}}
			r.Detail = strings.Repeat("d", MaxDetail)
			put(t, s, r)
			wantStored(t, s, r)
		})
	})
}

var hostile = [][2]string{
	{"a", "bc"}, {"ab", "c"}, {"/", "a"}, {"..x", "a"}, {"__x__", "a"}, {"{}", "a"}, {"%2F", "a"}, {"`a`", "a"}, {"A", "a"},
	{"ä", "a"}, {"a\u0308", "a"}, {"😀", "a"}, {" ", "a"}, {strings.Repeat("k", 256), "a"}, {"a'; --", "a"}, {"a\"", "a"},
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		old := dead("a", 9)
		old.ExpireAt = now.AddDate(-10, 0, 0)
		put(t, s, old)
		wantNone(t, s, lane, "a")
		next := done("a", 3) // a lower ticket even
		wantHeld(t, "held", put(t, s, next), next)
		wantStored(t, s, next)

		for i := range int64(5) {
			r := dead(fmt.Sprint("list-", i), 10+i)
			if i != 3 {
				r.ExpireAt = old.ExpireAt
			}
			put(t, s, r)
		}
		var ids []string
		for _, page := range pages(t, func(token string) (Page, error) { return s.List(t.Context(), lane, "", 2, token) }) {
			ids = append(ids, page...)
		}
		if diff := cmp.Diff([]string{"a", "list-3"}, ids); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		ctx := t.Context()
		if err := s.Delete(ctx, lane, "a", 9); err != nil {
			t.Errorf("Delete of nothing: %v", err)
		}
		put(t, s, done("a", 5))
		put(t, s, done("b", 5))
		if err := s.Delete(ctx, lane, "a", 4); err != nil {
			t.Error(err)
		}
		wantStored(t, s, done("a", 5)) // a later use of the id is kept
		for range 2 {
			if err := s.Delete(ctx, lane, "a", 5); err != nil {
				t.Error(err)
			}
		}
		wantNone(t, s, lane, "a")
		wantStored(t, s, done("b", 5))
		put(t, s, done("a", 2)) // nothing of the old one is in the way
		wantStored(t, s, done("a", 2))
	})
}
