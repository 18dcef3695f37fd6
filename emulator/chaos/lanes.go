package chaos

import (
	"fmt"
	"strings"
	"time"
)

// shortLease is the lease of all lanes, the shortest there is: what waits for a lost one waits for 5 s, what is in quarantine after a
// loss of Redis for 4/3 of it.
const shortLease = 5 * time.Second

// kind is a lane policy under test.
type kind struct {
	name        string
	policy      string // its YAML, beside match, target and lease
	concurrency int
	spacing     time.Duration
	share       float64 // of the arrivals of an order-only lane
	// held lanes are those that the operator pauses. While one is paused its tasks come back only after ten minutes, or more, and
	// where Redis is emptied meanwhile all that is new waits for them.
	held bool
}

var kinds = []kind{
	{name: "one", policy: "spacing: 0s", concurrency: 1, share: 1},
	{name: "three", policy: "spacing: 0s, concurrency: 3", concurrency: 3, share: 1},
	{name: "async", policy: "spacing: 0s, respond: async", concurrency: 1, share: 1},
	{name: "quick", policy: "spacing: 50ms", concurrency: 1, spacing: 50 * time.Millisecond, share: 1},
	{name: "decided", policy: "spacing: 0s, decide: firestore", concurrency: 1, share: 1},
	{name: "held", policy: "spacing: 0s", concurrency: 1, share: 1, held: true},
	{name: "slow", policy: "spacing: 500ms", concurrency: 1, spacing: 500 * time.Millisecond, share: 0.5},
}

// document is the configuration of one life of one process: its target's path says who calls.
func document(target, life string, lines bool) string {
	sample := "0"
	if lines {
		sample = "1"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "targets: {work: {url: '%s/%s', timeout: 20s}}\nlog: {sample: %s}\nlanes:\n", target, life, sample)
	for _, k := range kinds {
		fmt.Fprintf(&b, "  - {match: '%s-*', target: work, %s, lease: %s, attempts: 1000, backoff: {min: 100ms, max: 2s}}\n", k.name, k.policy, shortLease)
	}
	return b.String()
}

// lane is one lane under test.
type lane struct {
	kind
	key string
}

func allLanes() (list []lane) {
	for _, k := range kinds {
		for i := range lanesEach {
			list = append(list, lane{k, fmt.Sprintf("%s-%d", k.name, i)})
		}
	}
	return list
}
