package stack_test

import (
	"strings"
	"testing"

	"github.com/seriatim/seriatim/emulator/stack"
)

func TestAFirestoreThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	s, err := stack.Start(t.Context(), stack.Options{Firestore: "127.0.0.1:1"}) // nobody listens there
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "leave -firestore out") {
		t.Errorf("error %v, want the address and what to do", err)
	}
}
