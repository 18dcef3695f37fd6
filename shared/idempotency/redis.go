package idempotency

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
)

//go:embed trylock.lua
var tryLockLua string

//go:embed accept.lua
var acceptLua string

//go:embed release.lua
var releaseLua string

var (
	tryLockScript = redis.NewScript(tryLockLua)
	acceptScript  = redis.NewScript(acceptLua)
	releaseScript = redis.NewScript(releaseLua)
)

// Redis is a [Guard] in Redis: one script, so one round trip, per verb, with
// Redis's clock the only one. It excludes as long as Redis keeps its data: a
// failover may lose the last moment, an emptied server everything (see
// [Fallback]). A result costs its own length and about 300 bytes.
type Redis struct {
	rdb    redis.Scripter
	prefix string
}

var _ Guard = (*Redis)(nil)

// NewRedis returns a Guard on rdb, a client of the redisconn package or
// another that bounds its calls.
func NewRedis(rdb redis.Scripter) *Redis { return &Redis{rdb: rdb, prefix: "seriatim-guard"} }

// name is the one Redis key of key, in a hash tag like all of ours.
func (g *Redis) name(key ScopedKey) string { return g.prefix + ":{" + key.hash() + "}" }

// TryLock implements [Guard].
func (g *Redis) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error) {
	if err := checkLock(ctx, key, fingerprint, lease); err != nil {
		return Answer{}, err
	}
	return g.lock(ctx, newToken(key, fingerprint), lease)
}

// lock is TryLock for a token. With a lease of 0 it only looks: the State is
// empty then where the key is free.
func (g *Redis) lock(ctx context.Context, token Token, lease time.Duration) (Answer, error) {
	raw, err := tryLockScript.Run(ctx, g.rdb, []string{g.name(token.key)}, token.owner, token.fingerprint, milliseconds(lease)).Result()
	if err != nil {
		return Answer{}, unavailableRedis("trylock", err)
	}
	list, _ := raw.([]any)
	if len(list) != 3 {
		return Answer{}, fmt.Errorf("idempotency trylock in Redis: %w", errReply)
	}
	verdict, _ := list[0].(string)
	result, _ := list[1].(string)
	left, _ := list[2].(int64)
	switch state := State(verdict); state {
	case Acquired:
		return Answer{State: state, Token: token}, nil
	case Running:
		return Answer{State: state, RetryAfter: time.Duration(left) * time.Millisecond}, nil
	case Done:
		return Answer{State: state, Result: []byte(result)}, nil
	case Mismatch:
		return Answer{State: state}, nil
	case "free":
		return Answer{}, nil
	}
	return Answer{}, fmt.Errorf("idempotency trylock in Redis: %w", errReply)
}

// Accept implements [Guard].
func (g *Redis) Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error {
	if err := checkAccept(token, result, retention); err != nil {
		return err
	}
	return g.accept(ctx, token, result, retention, false)
}

func (g *Redis) accept(ctx context.Context, token Token, result []byte, retention time.Duration, force bool) error {
	return g.settle(ctx, "accept", acceptScript, token, token.owner, token.fingerprint, result, milliseconds(retention), force)
}

// Release implements [Guard].
func (g *Redis) Release(ctx context.Context, token Token) error {
	if err := checkToken(token); err != nil {
		return err
	}
	return g.settle(ctx, "release", releaseScript, token, token.owner)
}

func (g *Redis) settle(ctx context.Context, verb string, script *redis.Script, token Token, args ...any) error {
	switch raw, err := script.Run(ctx, g.rdb, []string{g.name(token.key)}, args...).Result(); {
	case err != nil:
		return unavailableRedis(verb, err)
	case raw == "OK":
		return nil
	case raw == "LOST":
		return fmt.Errorf("idempotency %s in Redis: %w", verb, ErrLost)
	default:
		return fmt.Errorf("idempotency %s in Redis: %w", verb, errReply)
	}
}

// errReply should never happen.
var errReply = errors.New("unreadable reply of a script")

func unavailableRedis(verb string, err error) error {
	if redisconn.IsUnreachable(err) || redisconn.IsFull(err) {
		return fmt.Errorf("idempotency %s in Redis: %w: %w", verb, ErrUnavailable, err)
	}
	return fmt.Errorf("idempotency %s in Redis: %w", verb, err)
}

// milliseconds rounds up: a bound may last longer than asked for, never
// shorter.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
