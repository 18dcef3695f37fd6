package slot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// TestCluster runs the scripts on a Redis Cluster of three nodes: there a call whose keys lie in two slots, and a script that
// touches a key of another node, fail.
func TestCluster(t *testing.T) {
	t.Parallel()
	rdb := cluster(t)
	b := &bundle{store: slot.New(rdb, slot.First, nil)}
	for _, key := range hostileKeys {
		b.lane = paced(key)
		b.everyScript(t)
	}
}

// cluster starts three nodes, shares the slots out among them, and waits until they agree.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	const slots = 16384
	var nodes []*redis.Client
	var addrs []string
	for range 3 {
		s := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000")
		nodes, addrs = append(nodes, s.Client()), append(addrs, s.Addr())
	}
	for i, node := range nodes {
		host, port, _ := strings.Cut(addrs[0], ":")
		for _, err := range []error{
			node.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(),
			node.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err(),
			node.ClusterMeet(t.Context(), host, port).Err(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, node := range nodes {
		for !strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok") {
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal("the nodes do not agree")
			}
		}
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
