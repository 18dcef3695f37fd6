package slot_test

import (
	"testing"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// TestCluster runs the scripts on a Redis Cluster of three nodes: there a call whose keys lie in two slots, and a script that
// touches a key of another node, fail.
func TestCluster(t *testing.T) {
	t.Parallel()
	b := &bundle{store: slot.New(redistest.Cluster(t), slot.First, nil)}
	for _, key := range hostileKeys {
		b.lane = paced(key)
		b.everyScript(t)
	}
}
