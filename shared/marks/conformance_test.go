package marks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/marks"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	t.Run("come back as they were made, lane by lane, and field by field", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			keys := []string{lane, "/", "..x", "__x__", "{}", "targets", "A", "a", "ä", "a\u0308", "😀", " ", strings.Repeat("k", 512)}
			for i, key := range keys {
				wantMarks(t, b, key, Marks{})
				change(t, b, key, func(m *Marks) { *m = all(); m.Purged = int64(i) })
			}
			for i, key := range keys {
				want := all()
				want.Purged = int64(i)
				wantMarks(t, b, key, want)
			}
			change(t, b, lane, func(m *Marks) { m.Paused = false })
			want := all()
			want.Paused, want.Purged = false, 0
			wantMarks(t, b, lane, want)
			change(t, b, lane, func(m *Marks) { *m = Marks{} })
			wantMarks(t, b, lane, Marks{})
			wantTargets(t, b, false)
		})
	})
	t.Run("what was changed is answered as it is kept", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			zone := time.FixedZone("east", 3600)
			got := change(t, b, lane, func(m *Marks) {
				m.Park(7)
				m.Park(4)
				m.Park(7)
				m.Await(noon.Add(time.Minute).In(zone))
				m.Await(noon)
				m.Purge(3)
				m.Purge(2)
			})
			want := Marks{Parked: []int64{4, 7}, Horizon: noon.Add(time.Minute), Purged: 3}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answered (-want +got):\n%s", diff)
			}
			wantMarks(t, b, lane, want)
			for _, ticket := range []int64{4, 9, 7} {
				got = change(t, b, lane, func(m *Marks) { m.Unpark(ticket) })
			}
			if got.Parked != nil {
				t.Errorf("parked %v, want none", got.Parked)
			}
		})
	})
	t.Run("what is answered is the caller's own", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			change(t, b, lane, func(m *Marks) { *m = all() })
			got := change(t, b, lane, func(m *Marks) { m.Paused = true })
			got.Parked[0] = 1
			read, err := b.Read(t.Context(), lane)
			if err != nil {
				t.Fatal(err)
			}
			read.Parked[0] = 2
			wantMarks(t, b, lane, all())
		})
	})
	t.Run("of too many parked tickets the highest stay", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			got := change(t, b, lane, func(m *Marks) {
				for i := range int64(MaxParked + 5) {
					m.Park(MaxParked + 5 - i)
				}
			})
			if n := len(got.Parked); n != MaxParked || got.Parked[0] != 6 || !slices.IsSorted(got.Parked) {
				t.Errorf("%d parked, the first %d, want %d from 6", n, got.Parked[0], MaxParked)
			}
			wantMarks(t, b, lane, got)
		})
	})
	t.Run("of many changes at once none is lost", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			const many = 12
			errs := make(chan error)
			for i := range int64(many) {
				go func() {
					_, err := b.Change(context.Background(), lane, func(m *Marks) { m.Park(i + 1) })
					for errors.Is(err, ErrUnavailable) { // said so, and may be repeated
						_, err = b.Change(context.Background(), lane, func(m *Marks) { m.Park(i + 1) })
					}
					errs <- err
				}()
			}
			for range many {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if m, err := b.Read(t.Context(), lane); err != nil || len(m.Parked) != many {
				t.Errorf("%v, %v, want %d tickets", m.Parked, err, many)
			}
		})
	})
	t.Run("a name out of bounds is refused, and not told", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, b *bundle) {
			for _, name := range []string{"", "\xffsecret", strings.Repeat("secret", 100)} {
				_, readErr := b.Read(t.Context(), name)
				_, changeErr := b.Change(t.Context(), name, func(*Marks) { t.Error("changed") })
				for _, err := range []error{readErr, changeErr, b.PauseTarget(t.Context(), name, true)} {
					if !errors.Is(err, ErrInvalid) || strings.Contains(fmt.Sprint(err), "secret") {
						t.Errorf("%v, want ErrInvalid without the name", err)
					}
				}
			}
			wantTargets(t, b, false)
		})
	})
}

func TestMarksLiveFromTheirLastChange(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, b *bundle) {
		change(t, b, lane, func(m *Marks) { m.Paused = true })
		b.advance(Life - time.Second)
		wantMarks(t, b, lane, Marks{Paused: true})
		change(t, b, lane, func(m *Marks) { m.Purge(9) })
		b.advance(Life - time.Second)
		change(t, b, lane, func(m *Marks) { m.Purge(8) }) // changes nothing
		wantMarks(t, b, lane, Marks{Paused: true, Purged: 9})
		b.advance(time.Second)
		wantMarks(t, b, lane, Marks{})

		// New marks hold nothing of the old ones.
		change(t, b, lane, func(m *Marks) { m.Purge(2) })
		wantMarks(t, b, lane, Marks{Purged: 2})
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, b *bundle) {
		wantTargets(t, b, false)
		pause := func(name string, paused bool) {
			t.Helper()
			if err := b.PauseTarget(t.Context(), name, paused); err != nil {
				t.Fatal(err)
			}
		}
		pause("shop", false) // known from here on
		wantTargets(t, b, true)
		for range 2 {
			pause("shop", true)
			pause("billing", true)
			wantTargets(t, b, true, "billing", "shop")
		}
		b.advance(Life)
		pause("shop", false)
		wantTargets(t, b, true, "billing")
		b.advance(TargetsLife)
		wantTargets(t, b, false)
		wantMarks(t, b, "billing", Marks{})
	})
}
