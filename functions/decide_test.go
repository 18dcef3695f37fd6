package functions_test

import (
	"context"
	"testing"

	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
)

// TestOneResultWhereFirestoreDecides kills the executor at the steps that a lane of decide: firestore has more, and rolls Redis back.
func TestOneResultWhereFirestoreDecides(t *testing.T) {
	t.Parallel()
	firestore := firestoretest.Start(t)
	stored := func(s *gated, id string) func() bool {
		return func() bool {
			_, found, err := s.records.Get(context.Background(), "k", id)
			return err == nil && found
		}
	}
	warm := func(t *testing.T, s *gated) { // the executor's connection to Firestore stands
		id := s.submit(t, "warm")
		s.begins(t)
		s.release <- struct{}{}
		s.wantOne(t, id, "warm", 1)
	}
	for name, story := range map[string]func(*testing.T, *gated){
		"killed between the handler and Firestore": func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.store.closed.Store(true)
			before := s.store.swallowed.Load()
			s.release <- struct{}{}
			await(t, "Firestore is asked", func() bool { return s.store.swallowed.Load() > before })
			s.restart(t, func() {})
			s.begins(t)
			s.release <- struct{}{}
			s.wantOne(t, a, "a", 2)
		},
		"killed between Firestore and finish": func(t *testing.T, s *gated) {
			warm(t, s)
			a := s.submit(t, "a")
			s.begins(t)
			s.store.mute.Store(true)
			s.release <- struct{}{}
			await(t, "Firestore has decided", stored(s, a))
			s.restart(t, func() { s.store.mute.Store(false) })
			s.wantOne(t, a, "a", 1)
		},
		"Firestore's reply is lost": func(t *testing.T, s *gated) {
			warm(t, s)
			a := s.submit(t, "a")
			s.begins(t)
			s.store.mute.Store(true)
			s.release <- struct{}{}
			await(t, "Firestore has decided", stored(s, a))
			s.store.mute.Store(false)
			s.wantOne(t, a, "a", 1)
		},
		"Firestore is away after the effect": func(t *testing.T, s *gated) {
			a := s.submit(t, "a")
			s.begins(t)
			s.store.closed.Store(true)
			before := s.store.swallowed.Load()
			s.release <- struct{}{}
			await(t, "Firestore is asked", func() bool { return s.store.swallowed.Load() > before })
			if got := s.field(t, a, "status"); got != "open" {
				t.Errorf("status %q before Firestore has decided, want open", got)
			}
			s.store.closed.Store(false)
			s.wantOne(t, a, "a", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, newGated(t, firestore.Config(), "lease: 5s, decide: firestore"))
		})
	}
}
