package generation

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/slot"
)

// Key is the Redis key of the marker.
const Key = "seriatim-generation"

// markerLife is how long the marker stays after the last connection: every key expires, and the marker after every lane.
const markerLife = 366 * 24 * time.Hour

// touchedWithin is how often its time to live is set anew, at most: marker.lua tells by it how old a marker is that came with lanes.
const touchedWithin = 10 * time.Second

// ErrMarker says that the marker was written by somebody else. Delete the key: Redis then counts as emptied.
var ErrMarker = errors.New("generation: key " + Key + " cannot be read")

//go:embed marker.lua
var markerLua string

var markerScript = redis.NewScript(markerLua)

// marker is the decoded value of Key. The zero value is none.
type marker struct {
	slot.Generation

	identity string
	cause    string
	previous int64 // number
}

// parse reads a marker; later fields of newer code are ignored, and one that older code did not write may be missing.
func parse(text string) (marker, error) {
	const fields, emptied = 6, 6
	parts := strings.Split(text, "|")
	if len(parts) < fields {
		return marker{}, ErrMarker
	}
	m := marker{identity: parts[3], cause: parts[4]}
	numbers := map[int]*int64{0: &m.Number, 1: &m.QuarantineUntil, 2: &m.RestoreUntil, 5: &m.previous}
	if len(parts) > emptied {
		numbers[emptied] = &m.Emptied
	}
	for i, to := range numbers {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return marker{}, ErrMarker
		}
		*to = n
	}
	return m, nil
}

// sight is what a connection shows of its server.
type sight struct {
	marker

	server  string        // identity
	expires time.Duration // of the marker
}

// look reads INFO and the marker in one round trip. A server that is no primary is ErrReplica.
func look(ctx context.Context, conn redis.Cmdable) (sight, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var info, text *redis.StringCmd
	var life *redis.DurationCmd
	_, err := conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		// All default sections: Redis 6 takes one section per call, and miniredis knows neither of the two.
		info, text, life = p.Info(ctx), p.Get(ctx, Key), p.PTTL(ctx, Key)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return sight{}, fmt.Errorf("read the generation of Redis: %w", err)
	}
	values := infoValues(info.Val())
	if values["role"] == "slave" {
		return sight{}, redisconn.ErrReplica
	}
	s := sight{server: identity(values), expires: life.Val()}
	if text.Err() == nil {
		s.marker, err = parse(text.Val())
		return s, err
	}
	return s, nil
}

// identity is empty for miniredis, which tells neither.
func identity(info map[string]string) string {
	if info["run_id"] == "" {
		return ""
	}
	return info["run_id"] + "/" + info["master_replid"]
}

func infoValues(info string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			values[name] = value
		}
	}
	return values
}

// terms are what a new generation is made with.
type terms struct {
	known               int64 // number
	quarantine, restore time.Duration
	cause               string // empty: what the script finds
}

func mark(ctx context.Context, conn redis.Scripter, server string, t terms) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := markerScript.Run(ctx, conn, []string{Key}, server, t.known, t.quarantine.Milliseconds(), t.restore.Milliseconds(),
		markerLife.Milliseconds(), t.cause).Err()
	if err != nil {
		return fmt.Errorf("mark a new generation of Redis: %w", err)
	}
	return nil
}
