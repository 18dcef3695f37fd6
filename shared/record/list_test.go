package record_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/record"
)

func TestLists(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		// Odd tickets are done, even ones dead; put in no order, and beside
		// another lane. Two dead ones finished in the same moment.
		for _, i := range []int64{4, 1, 7, 2, 6, 5, 3, 8} {
			r := done(fmt.Sprint("r", i), i)
			if i%2 == 0 {
				r = dead(fmt.Sprint("r", i), i)
			}
			if i == 4 {
				r.Finished = now.Add(6 * time.Second)
			}
			put(t, s, r)
			r.Key = "another lane"
			put(t, s, r)
		}
		ctx := t.Context()
		all := func(status Status, size int) [][]string {
			return pages(t, func(token string) (Page, error) { return s.List(ctx, lane, status, size, token) })
		}
		for _, tt := range []struct {
			name string
			got  [][]string
			want [][]string
		}{
			{"in ticket order", all("", 3), [][]string{{"r1", "r2", "r3"}, {"r4", "r5", "r6"}, {"r7", "r8"}}},
			{"a full last page has no next", all("", 4), [][]string{{"r1", "r2", "r3", "r4"}, {"r5", "r6", "r7", "r8"}}},
			{"of one status", all(Done, 3), [][]string{{"r1", "r3", "r5"}, {"r7"}}},
			{"behind a ticket", pages(t, func(string) (Page, error) { return s.List(ctx, lane, "", 100, After(5)) }), [][]string{{"r6", "r7", "r8"}}},
			{"of a status that none has", all(Cancelled, 3), [][]string{{}}},
		} {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}

		letters := pages(t, func(token string) (Page, error) { return s.DeadLetters(ctx, lane, 2, token) })
		first, second := []string{"r8", "r6"}, []string{"r4", "r2"} // r4 and r6 in either order
		if len(letters) == 2 && letters[0][1] == "r4" {
			first, second = []string{"r8", "r4"}, []string{"r6", "r2"}
		}
		if diff := cmp.Diff([][]string{first, second}, letters); diff != "" {
			t.Errorf("dead letters, newest first (-want +got):\n%s", diff)
		}

		// All but the large parts are there.
		page, err := s.List(ctx, lane, Dead, 1, "")
		want := dead("r2", 2)
		want.Response, want.Payload = nil, nil
		if diff := cmp.Diff([]Record{want}, page.Records); err != nil || diff != "" {
			t.Errorf("%v, page (-want +got):\n%s", err, diff)
		}
		if page, err := s.List(ctx, "an unknown lane", "", 10, ""); err != nil || len(page.Records) != 0 || page.Next != "" {
			t.Errorf("an unknown lane: %+v, %v", page, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		for name, spoil := range map[string]func(*Record){
			"no key":                func(r *Record) { r.Key = "" },
			"a key that is no text": func(r *Record) { r.Key = "\xff" },
			"no id":                 func(r *Record) { r.ID = "" },
			"a long id":             func(r *Record) { r.ID = strings.Repeat("i", 513) },
			"no ticket":             func(r *Record) { r.Ticket = 0 },
			"a negative fence":      func(r *Record) { r.Fence = -1 },
			"an open request":       func(r *Record) { r.Status = "open" },
			"no end":                func(r *Record) { r.Finished = time.Time{} },
			"no expiry":             func(r *Record) { r.ExpireAt = time.Time{} },
			"an expiry too far":     func(r *Record) { r.ExpireAt = ever.AddDate(9999, 0, 0) },
			"a large response":      func(r *Record) { r.Response = make([]byte, MaxResponse+1) },
			"a large body":          func(r *Record) { r.Payload.Body = make([]byte, MaxBody+1) },
			"large headers":         func(r *Record) { r.Payload.Header = http.Header{"X": {strings.Repeat("x", MaxHeader)}} },
			"headers that are none": func(r *Record) { r.Payload.Header = http.Header{"X": {"\xff"}} },
			"a long detail":         func(r *Record) { r.Detail = strings.Repeat("d", MaxDetail+1) },
			"a reason that is none": func(r *Record) { r.Reason = "\xff" },
			"a long target":         func(r *Record) { r.Target = strings.Repeat("t", 513) },
		} {
			r := dead("a", 1)
			spoil(&r)
			if held, err := s.Put(t.Context(), r); !errors.Is(err, ErrInvalid) || held.ID != "" || strings.Contains(err.Error(), lane) {
				t.Errorf("%s: %v, want ErrInvalid", name, err)
			}
		}
		wantNone(t, s, lane, "a")

		ctx := t.Context()
		put(t, s, dead("a", 1))
		put(t, s, dead("b", 2))
		tickets, err := s.List(ctx, lane, "", 1, "")
		if err != nil || tickets.Next == "" {
			t.Fatalf("first page: %+v, %v", tickets, err)
		}
		for name, list := range map[string]func() (Page, error){
			"no key":                  func() (Page, error) { return s.List(ctx, "", "", 10, "") },
			"no page size":            func() (Page, error) { return s.List(ctx, lane, "", 0, "") },
			"a large page":            func() (Page, error) { return s.List(ctx, lane, "", MaxPage+1, "") },
			"no token":                func() (Page, error) { return s.List(ctx, lane, "", 10, "?") },
			"a token of nothing":      func() (Page, error) { return s.List(ctx, lane, "", 10, "e30") },
			"a token that was cut":    func() (Page, error) { return s.List(ctx, lane, "", 10, tickets.Next[:20]) },
			"a token of another list": func() (Page, error) { return s.DeadLetters(ctx, lane, 10, tickets.Next) },
		} {
			if _, err := list(); !errors.Is(err, ErrInvalid) {
				t.Errorf("list with %s: %v, want ErrInvalid", name, err)
			}
		}
		if _, _, err := s.Get(ctx, lane, ""); !errors.Is(err, ErrInvalid) {
			t.Errorf("Get without an id: %v, want ErrInvalid", err)
		}
		if err := s.Delete(ctx, "", "a", 1); !errors.Is(err, ErrInvalid) {
			t.Errorf("Delete without a key: %v, want ErrInvalid", err)
		}
	})
}
