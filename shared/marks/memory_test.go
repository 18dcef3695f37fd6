package marks

import (
	"fmt"
	"testing"
	"time"
)

func TestMemoryForgetsWhatIsPastItsLife(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	m := NewMemory(func() time.Time { return now })
	for i := range 3 * minSweep {
		if i%minSweep == 0 {
			now = now.Add(Life)
		}
		if _, err := m.Change(t.Context(), fmt.Sprint(i), func(m *Marks) { m.Paused = true }); err != nil {
			t.Fatal(err)
		}
		if len(m.held) > minSweep {
			t.Fatalf("%d held, want %d at most", len(m.held), minSweep)
		}
	}
}
