package collapse

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed entry.lua
var entryLua string

//go:embed join.lua
var joinLua string

//go:embed renew.lua
var renewLua string

//go:embed settle.lua
var settleLua string

//go:embed invalidate.lua
var invalidateLua string

var (
	joinScript       = redis.NewScript(entryLua + joinLua)
	renewScript      = redis.NewScript(entryLua + renewLua)
	settleScript     = redis.NewScript(entryLua + settleLua)
	invalidateScript = redis.NewScript(entryLua + invalidateLua)
)

// retreat is how long Redis is left alone after it could not be reached: its
// timeout would be added to every read.
const retreat = time.Second

var errRetreat = errors.New("not tried: could not be reached a moment ago")

// store runs the scripts.
type store struct {
	rdb     redis.Scripter
	timeout time.Duration
	since   time.Time    // to count retreat on the monotonic clock
	until   atomic.Int64 // end of the retreat, after since
}

func newStore(rdb redis.Scripter, timeout time.Duration) *store {
	if timeout <= 0 {
		timeout = time.Second
	}
	return &store{rdb: rdb, timeout: timeout, since: time.Now()}
}

// run calls a script. It goes on when ctx is cancelled: what it settles
// concerns others.
func (s *store) run(ctx context.Context, script *redis.Script, key Key, args ...any) (any, error) {
	if int64(time.Since(s.since)) < s.until.Load() {
		return nil, errRetreat
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	v, err := script.Run(ctx, s.rdb, []string{key.entry(), key.budget(), key.epoch()}, args...).Result()
	var answered redis.Error // Redis said no: it is there
	if err != nil && !errors.As(err, &answered) {
		s.until.Store(int64(time.Since(s.since) + retreat))
	}
	return v, err
}

// join is safe to repeat with the same nonce. Where Redis cannot be asked, its
// verdict is to fetch without.
func (s *store) join(ctx context.Context, key Key, p Policy, nonce string, since int64) verdict {
	raw, err := s.run(ctx, joinScript, key, nonce, ms(p.Lease), p.Stamp, since, p.MaxBytes)
	v, ok := parseVerdict(raw)
	if err != nil || !ok {
		return verdict{kind: verdictLocal, text: []byte(DetailRedis)}
	}
	return v
}

// renew tells whether the lease is still the nonce's; true when nobody knows.
func (s *store) renew(ctx context.Context, key Key, p Policy, nonce string) bool {
	n, err := s.run(ctx, renewScript, key, nonce, ms(p.Lease))
	return err != nil || n == int64(1)
}

// settle answers OK, FULL or LOST. An error means that nobody knows.
func (s *store) settle(ctx context.Context, key Key, p Policy, nonce string, x settlement) (string, error) {
	v, err := s.run(ctx, settleScript, key, nonce, x.kind, x.body, p.Stamp,
		ms(x.age), ms(x.times.Fresh), ms(x.times.WhileRevalidate), ms(x.times.IfError), ms(x.times.Keep), ms(x.mark), p.MaxBytes)
	answer, _ := v.(string)
	return answer, err
}

func (s *store) invalidate(ctx context.Context, key Key) error {
	if _, err := s.run(ctx, invalidateScript, key); err != nil {
		return fmt.Errorf("collapse: invalidate a read of origin %q: %w", key.Origin, err)
	}
	return nil
}
