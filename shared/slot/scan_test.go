package slot_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func TestLanes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb)
		b.clock.After = func() {}
		want := []string{"a}:s", "tenant-42:product-7", "{b}%7D", "ü/ö"}
		for _, b.lane.Key = range want {
			b.queued(t, "r")
		}
		// Not lanes, though they look like some.
		for _, name := range []string{"seriatim:{x}:s:s", "seriatim:{%zz}:s", "seriatim:{a/b}:s"} {
			if err := rdb.HSet(t.Context(), name, "format", 1).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second look starts anew
			got, err := slot.Lanes(t.Context(), rdb)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("lanes (-want +got):\n%s", diff)
			}
		}
	})
}
