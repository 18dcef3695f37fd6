package slottest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/slot"
)

// Keys lists the Redis keys of a lane, sorted.
func Keys(ctx context.Context, rdb redis.Cmdable, key string) ([]string, error) {
	prefix := strings.TrimSuffix(slot.KeysOf(key).State(), "s")
	keys, err := rdb.Keys(ctx, prefix+"*").Result()
	if err != nil {
		return nil, fmt.Errorf("list the keys of lane %q: %w", key, err)
	}
	slices.Sort(keys)
	return keys, nil
}

// Dump reads the whole state of a lane: per Redis key, without the lane's prefix, its fields or members. See Ends for the
// lives of the keys.
func Dump(ctx context.Context, rdb redis.Cmdable, key string) (map[string]map[string]string, error) {
	keys, err := Keys(ctx, rdb, key)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(slot.KeysOf(key).State(), "s")
	dump := map[string]map[string]string{}
	for _, k := range keys {
		if dump[strings.TrimPrefix(k, prefix)], err = read(ctx, rdb, k); err != nil {
			return nil, fmt.Errorf("dump %s: %w", k, err)
		}
	}
	return dump, nil
}

func read(ctx context.Context, rdb redis.Cmdable, key string) (map[string]string, error) {
	kind, err := rdb.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	switch kind {
	case "string":
		fields[""], err = rdb.Get(ctx, key).Result()
	case "hash":
		fields, err = rdb.HGetAll(ctx, key).Result()
	case "zset":
		var members []redis.Z
		members, err = rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, m := range members {
			fields[m.Member.(string)] = fmt.Sprintf("%.0f", m.Score)
		}
	case "list":
		var elements []string
		elements, err = rdb.LRange(ctx, key, 0, -1).Result()
		for i, text := range elements {
			fields[strconv.Itoa(i)] = text
		}
	default:
		err = fmt.Errorf("a lane has no key of type %s", kind)
	}
	return fields, err
}

// Ends reads when the keys of a lane expire, in Redis milliseconds. miniredis keeps lives, not instants, so there they
// waver by a millisecond.
func Ends(ctx context.Context, rdb redis.Cmdable, key string) (map[string]int64, error) {
	keys, err := Keys(ctx, rdb, key)
	if err != nil {
		return nil, err
	}
	ends := map[string]int64{}
	for _, k := range keys {
		end, err := rdb.PExpireTime(ctx, k).Result()
		if err != nil {
			return nil, fmt.Errorf("read the end of %s: %w", k, err)
		}
		ends[k] = end.Milliseconds()
	}
	return ends, nil
}

// Immortal lists the keys of a lane that never expire.
func Immortal(ctx context.Context, rdb redis.Cmdable, key string) ([]string, error) {
	ends, err := Ends(ctx, rdb, key)
	immortal := slices.Collect(maps.Keys(ends))
	return slices.DeleteFunc(immortal, func(k string) bool { return ends[k] > 0 }), err
}
