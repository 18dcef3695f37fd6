package slot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// scanBatch is how many keys Redis looks at per SCAN: about a millisecond of its time.
	scanBatch = 2000
	// ScanBudget is how many SCAN calls one look for lanes makes at most.
	ScanBudget = 100
	// cursorKey keeps where the last look ended, so that the next one, by whichever instance, goes on there.
	cursorKey  = "seriatim-sweep:{cursor}"
	cursorLife = time.Hour
)

// Lanes returns the keys of lanes in Redis: as many as ScanBudget SCAN calls find, from where the last call of any instance
// ended, so that calls one after another see every lane. A lane may come twice. The error is of Redis.
func Lanes(ctx context.Context, rdb redis.Cmdable) ([]string, error) {
	cursor, err := rdb.Get(ctx, cursorKey).Uint64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("look for lanes: %w", err)
	}
	var keys []string
	for range ScanBudget {
		var names []string
		if names, cursor, err = rdb.Scan(ctx, cursor, "seriatim:{*}:s", scanBatch).Result(); err != nil {
			return nil, fmt.Errorf("look for lanes: %w", err)
		}
		for _, name := range names {
			if key, ok := laneOf(name); ok {
				keys = append(keys, key)
			}
		}
		if cursor == 0 {
			break
		}
	}
	if err := rdb.Set(ctx, cursorKey, cursor, cursorLife).Err(); err != nil {
		return nil, fmt.Errorf("look for lanes: %w", err)
	}
	return keys, nil
}

// laneOf is the key whose state has that name: the inverse of Keys.State.
func laneOf(name string) (string, bool) {
	escaped, ok := strings.CutPrefix(name, "seriatim:{")
	if !ok {
		return "", false
	}
	if escaped, ok = strings.CutSuffix(escaped, "}:s"); !ok {
		return "", false
	}
	key, err := url.PathUnescape(escaped)
	return key, err == nil && KeysOf(key).State() == name
}
