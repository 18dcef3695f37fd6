package slot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// DeadLetters are the dead requests of lanes that are not durable, with what it takes to run them again. They live in Redis,
// beside the scripts: what they hold decides nothing. The zero value keeps none. It is safe for concurrent use.
type DeadLetters struct{ rdb redis.Cmdable }

// NewDeadLetters returns those that rdb holds.
func NewDeadLetters(rdb redis.Cmdable) DeadLetters { return DeadLetters{rdb} }

// DeadLetter names one.
type DeadLetter struct {
	ID     string
	Ticket int64
	// Finished is when the request was given up, to the millisecond.
	Finished time.Time
}

func (d DeadLetter) member() string { return strconv.FormatInt(d.Ticket, 10) + " " + d.ID }

// trimmed is how many dead letters whose time is over each Keep takes off the list, at most.
const trimmed = 10

// Keep stores a dead letter until the end; repeated it changes nothing. The error is of Redis.
func (s DeadLetters) Keep(ctx context.Context, lane Lane, d DeadLetter, encoded []byte) error {
	if s.rdb == nil {
		return nil
	}
	keys, end := KeysOf(lane.Key), d.Finished.Add(lane.Retention)
	over := strconv.FormatInt(d.Finished.Add(-lane.Retention).UnixMilli(), 10)
	old, err := s.rdb.ZRangeByScore(ctx, keys.DeadLetters(), &redis.ZRangeBy{Min: "-inf", Max: over, Count: trimmed}).Result()
	if err == nil {
		_, err = s.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.SetArgs(ctx, keys.DeadLetter(d.ID), encoded, redis.SetArgs{ExpireAt: end})
			tx.ZAdd(ctx, keys.DeadLetters(), redis.Z{Score: float64(d.Finished.UnixMilli()), Member: d.member()})
			for _, member := range old {
				tx.ZRem(ctx, keys.DeadLetters(), member)
			}
			// From now on, not from its end: an older letter, kept again, must not take the list from newer ones.
			tx.PExpire(ctx, keys.DeadLetters(), lane.Retention+time.Minute)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("keep dead letter %s of lane %q: %w", d.ID, lane.Key, err)
	}
	return nil
}

// Get returns what Keep stored; found is false where there is none. The error is of Redis.
func (s DeadLetters) Get(ctx context.Context, lane Lane, requestID string) (encoded []byte, found bool, err error) {
	if s.rdb == nil {
		return nil, false, nil
	}
	encoded, err = s.rdb.Get(ctx, KeysOf(lane.Key).DeadLetter(requestID)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("get dead letter %s of lane %q: %w", requestID, lane.Key, err)
	}
	return encoded, true, nil
}

// Remove forgets a dead letter. The error is of Redis.
func (s DeadLetters) Remove(ctx context.Context, lane Lane, d DeadLetter) error {
	if s.rdb == nil {
		return nil
	}
	keys := KeysOf(lane.Key)
	_, err := s.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.ZRem(ctx, keys.DeadLetters(), d.member())
		tx.Del(ctx, keys.DeadLetter(d.ID))
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove dead letter %s of lane %q: %w", d.ID, lane.Key, err)
	}
	return nil
}

// List returns at most size dead letters, the last first, behind the one given (the zero value: from the start). What it names
// may be gone when it is asked for. The error is of Redis.
func (s DeadLetters) List(ctx context.Context, lane Lane, size int, behind DeadLetter) ([]DeadLetter, error) {
	if s.rdb == nil {
		return nil, nil
	}
	by := &redis.ZRangeBy{Min: "-inf", Max: "+inf", Count: int64(size)}
	if behind.ID != "" {
		by.Max = strconv.FormatInt(behind.Finished.UnixMilli(), 10)
	}
	var list []DeadLetter
	for {
		found, err := s.rdb.ZRevRangeByScoreWithScores(ctx, KeysOf(lane.Key).DeadLetters(), by).Result()
		if err != nil {
			return nil, fmt.Errorf("list dead letters of lane %q: %w", lane.Key, err)
		}
		for _, z := range found {
			d := deadLetter(z)
			same := behind.ID != "" && d.Finished.UnixMilli() == behind.Finished.UnixMilli()
			if len(list) < size && !(same && d.member() >= behind.member()) {
				list = append(list, d)
			}
		}
		if by.Offset += int64(len(found)); len(list) == size || len(found) < size {
			return list, nil
		}
	}
}

func deadLetter(z redis.Z) DeadLetter {
	ticket, id, _ := strings.Cut(z.Member.(string), " ")
	n, _ := strconv.ParseInt(ticket, 10, 64)
	return DeadLetter{ID: id, Ticket: n, Finished: time.UnixMilli(int64(z.Score)).UTC()}
}
