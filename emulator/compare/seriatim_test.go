package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheRealCodeHasOneHistoryForASeed runs it twice among the quiet tenants, and once more with another seed.
func TestTheRealCodeHasOneHistoryForASeed(t *testing.T) {
	t.Parallel()
	history := func(seed uint64) Row {
		all := loads(seed)
		load := all[len(all)-1]
		l, c, err := seriatim(t, load, seed)
		if err != nil {
			t.Fatal(err)
		}
		row, err := judge(load, "", l, c)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	first, exported := history(1), cmp.AllowUnexported(Row{}, start{})
	if d := cmp.Diff(first, history(1), exported); d != "" {
		t.Errorf("two runs of one seed differ:\n%s", d)
	}
	if other := history(2); cmp.Equal(first, other, exported) {
		t.Error("another seed has the same history")
	}
}
