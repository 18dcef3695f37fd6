package target

import (
	"errors"
	"fmt"
	"sync"
)

// Set holds targets by the name that the configuration gives them. The zero
// Set is empty and ready; it is safe for concurrent use.
type Set struct {
	mu     sync.RWMutex
	byName map[string]Target
}

// Default is the Set that [Register] adds to. The functions take their Go
// targets from it, since in the cloud their main is generated and can pass
// them nothing.
var Default Set

// Register adds f to [Default]; see [Set.Register]. It is called from an init
// function of a package that both functions import.
func Register(name string, f Func) { Default.Register(name, f) }

// Register adds a Go function. Like [net/http.Handle] it panics when the name
// is empty or taken, or f is nil: that is a mistake in the program, found when
// it starts.
func (s *Set) Register(name string, f Func) {
	if f == nil {
		panic(fmt.Sprintf("target: the function registered as %q is nil", name))
	}
	if err := s.Add(name, f); err != nil {
		panic(err.Error())
	}
}

// Add adds a target. The error says that the name is empty or taken.
func (s *Set) Add(name string, t Target) error {
	if name == "" {
		return errors.New("target: the name is empty; give the one that the configuration uses")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] != nil {
		return fmt.Errorf("target: %q is added twice; remove one, or give it another name", name)
	}
	if s.byName == nil {
		s.byName = map[string]Target{}
	}
	s.byName[name] = t
	return nil
}

// Get returns the target of that name, and whether there is one.
func (s *Set) Get(name string) (Target, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.byName[name]
	return t, ok
}
