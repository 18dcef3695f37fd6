package slot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// PausedStore keeps the paused targets beyond the life of Redis. Its two calls are those of the stores of package marks.
type PausedStore interface {
	// Targets returns the names; known is false where nobody has paused or resumed any yet.
	Targets(ctx context.Context) (names []string, known bool, err error)
	PauseTarget(ctx context.Context, name string, paused bool) error
}

// restores bounds the rounds of one Restore: each more than the first means that somebody paused or resumed a target meanwhile.
const restores = 10

// Restore puts the paused targets back into a Redis that has lost them, or has older ones. It may run on several instances at
// once, and beside Set: the last that each Restore does is to find that Lasting still says what it wrote, and whoever changes
// Lasting later writes to Redis later. Where Lasting knows nothing, or there is none, Redis stays as it is.
func (p *PausedTargets) Restore(ctx context.Context) error {
	if p.Lasting == nil {
		return nil
	}
	want, known, err := p.Lasting.Targets(ctx)
	for range restores {
		if err != nil || !known {
			break
		}
		if err = p.replace(ctx, want); err != nil {
			break
		}
		written := want
		if want, known, err = p.Lasting.Targets(ctx); err == nil && slices.Equal(want, written) {
			p.reads.Forget("")
			return p.fetch(ctx)
		}
	}
	if err == nil && known {
		err = errors.New("they change all the time")
	}
	if err != nil {
		return fmt.Errorf("restore paused targets: %w", err)
	}
	return nil
}

// replace makes the set in Redis what Lasting says.
func (p *PausedTargets) replace(ctx context.Context, names []string) error {
	_, err := p.rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Del(ctx, pausedKey)
		if len(names) > 0 {
			tx.SAdd(ctx, pausedKey, names)
			tx.PExpire(ctx, pausedKey, pausedLife)
		}
		return nil
	})
	return err
}
