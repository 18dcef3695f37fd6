package redistest

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// hashSlots is how many there are in a Redis Cluster.
const hashSlots = 16384

// Cluster starts a Redis Cluster of three nodes without replicas, waits until they agree, and returns a client that is closed
// when the test ends. It skips or fails as [Require] does.
func Cluster(tb testing.TB) *redis.ClusterClient {
	tb.Helper()
	var nodes []*redis.Client
	var addrs []string
	for range 3 {
		s := Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000")
		nodes, addrs = append(nodes, s.Client()), append(addrs, s.Addr())
	}
	for i, node := range nodes {
		host, port, _ := strings.Cut(addrs[0], ":")
		for _, err := range []error{
			node.Do(tb.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(),
			node.ClusterAddSlotsRange(tb.Context(), i*hashSlots/3, (i+1)*hashSlots/3-1).Err(),
			node.ClusterMeet(tb.Context(), host, port).Err(),
		} {
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, node := range nodes {
		for !strings.Contains(node.ClusterInfo(tb.Context()).Val(), "cluster_state:ok") {
			select {
			case <-tick.C:
			case <-tb.Context().Done():
				tb.Fatal("the nodes do not agree")
			}
		}
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
