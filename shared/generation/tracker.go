package generation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/slot"
)

const (
	// CheckedWithin is how soon a loss under connections that live on is noticed, while there are requests.
	CheckedWithin = time.Second

	// restoring is how long a lost lane may still be asked for: a task lives at most 31 days after its creation.
	restoring = 32 * 24 * time.Hour

	// lookTimeout bounds each step of a connect that talks to Redis, as redisconn bounds the dial: a call waits for all of them.
	lookTimeout = 2 * time.Second

	// firstTimeout bounds the question whether this is the first life. It may take longer than a connect should, since it is asked
	// only where no process knows a generation, and the answer "no" keeps everything waiting for minutes.
	firstTimeout = 5 * time.Second

	// looks bounds how often the marker is read again because it was changed meanwhile.
	looks = 4
)

var (
	// ErrUnknown says that there was no connection yet. redisconn.IsUnreachable takes it for a Redis out of reach.
	ErrUnknown = fmt.Errorf("generation: no connection has told it yet: %w", redisconn.ErrNotReady)
	// errChanging says that others change the marker as fast as it can be read: two primaries, or a clock gone wild.
	errChanging = fmt.Errorf("generation: changed by others all the time: %w", redisconn.ErrNotReady)
)

// Options of a Tracker.
type Options struct {
	// Lease is the longest lease that may be alive: policy.Document.LongestLease. The quarantine is 4/3 of it.
	Lease time.Duration
	// First says whether this is the first life of the deployment, as [Firestore.First] does. An error is no. Nil: nobody knows,
	// and nothing can be restored.
	First func(context.Context) (bool, error)
	// Now is the clock of Check.
	// Default: time.Now.
	Now func() time.Time
}

// Tracker knows the generation of one Redis, as slot.Store wants it. It is safe for concurrent use.
type Tracker struct {
	options Options
	rdb     *redis.Client
	firsts  singleflight.Group

	mu      sync.Mutex
	current marker // zero: unknown
	changes bool   // this process has asked for a change of the marker
	checked time.Time
}

// New returns a Tracker that knows nothing yet. Give its OnConnect to the client, then the client to Use.
func New(o Options) *Tracker {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tracker{options: o}
}

// Use names the client whose connections OnConnect sees. Call it once, before the first command.
func (t *Tracker) Use(rdb *redis.Client) { t.rdb = rdb }

// OnConnect is for redis.Options: it learns, or makes, the generation of the server at the other end before the connection is
// used. It takes one round trip as a rule, of 2 s at most, and three for a new generation; only where no generation was ever seen
// it waits up to 5 s for Options.First. An error closes the connection, and redisconn.IsUnreachable takes it as the server's own.
func (t *Tracker) OnConnect(ctx context.Context, conn *redis.Conn) error {
	for range looks {
		seen, err := look(ctx, conn)
		switch {
		case err != nil:
			return err
		case t.adopt(ctx, seen):
			return seen.extend(ctx, conn)
		}
		made, err := t.terms(ctx, seen)
		if err != nil {
			return err
		}
		if err := mark(ctx, conn, seen.server, made); err != nil {
			return err
		}
	}
	return errChanging
}

// Current returns what the last connection, Check, Verify or Refresh has found, or ErrUnknown. It neither blocks nor does I/O.
func (t *Tracker) Current() (slot.Generation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current.Number == 0 {
		return slot.Generation{}, ErrUnknown
	}
	return t.current.Generation, nil
}

// Refresh reads the generation anew, and makes a new one where it does not fit the server. It does so on a connection of the pool,
// which stays the same between look and change.
func (t *Tracker) Refresh(ctx context.Context) error {
	conn := t.rdb.Conn()
	defer conn.Close()
	return t.OnConnect(ctx, conn)
}

// Check is Refresh for one caller in CheckedWithin; the others go on with what is known. Its error is for nobody but a log: while
// Redis cannot tell its generation it runs no script either.
func (t *Tracker) Check(ctx context.Context) error {
	t.mu.Lock()
	now := t.options.Now()
	due := t.checked.IsZero() || now.Sub(t.checked) >= CheckedWithin
	if due {
		t.checked = now
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	// A caller whose time is over does not wait: a renewal under a lease that ends, say.
	over := make(chan error, 1)
	go func() {
		defer close(over)
		over <- t.Refresh(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Verify looks at once whether the marker still is that of the generation of that number. If not, it learns the new generation, or
// makes it, and returns slot.ErrLost. Ask it when Redis shows a lane as new: Redis may just have been emptied.
func (t *Tracker) Verify(ctx context.Context, number int64) error {
	text, err := t.rdb.Get(ctx, Key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("verify the generation of Redis: %w", err)
	}
	if seen, err := parse(text); err == nil && seen.Number == number {
		return nil
	}
	return errors.Join(slot.ErrLost, t.Refresh(ctx))
}

// extend has the marker outlive every lane, and tell that it is in use, without a write at every connect.
func (s sight) extend(ctx context.Context, conn *redis.Conn) error {
	if s.expires >= markerLife-touchedWithin {
		return nil
	}
	return conn.PExpire(ctx, Key, markerLife).Err()
}

// terms are those of the generation that follows what was seen. The error is of ctx.
func (t *Tracker) terms(ctx context.Context, seen sight) (terms, error) {
	t.mu.Lock()
	made := terms{known: t.current.Number, quarantine: (t.options.Lease*4 + 2) / 3}
	t.changes = true
	t.mu.Unlock()
	if t.options.First == nil {
		return made, nil
	}
	made.restore = restoring
	// A marker means an earlier life, and so does a number that this process has seen.
	if seen.Number > 0 || made.known > 0 {
		return made, nil
	}
	first, err := t.first(ctx)
	if first {
		return terms{cause: causeFirst}, nil
	}
	return made, err
}

// first asks once for all connections that are opened at the same time, and goes on when their callers leave: a document that was
// created unheard would make this process no first one.
func (t *Tracker) first(ctx context.Context) (bool, error) {
	answer := t.firsts.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), firstTimeout)
		defer cancel()
		first, err := t.options.First(ctx)
		if err != nil {
			logging.FromContext(ctx).WarnContext(ctx, "whether Redis is new or was emptied cannot be told: taken as emptied", logging.Error, err.Error())
		}
		return first && err == nil, nil
	})
	select {
	case a := <-answer:
		return a.Val.(bool), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// adopt takes over the marker if it fits its server and is not below one that was seen.
func (t *Tracker) adopt(ctx context.Context, s sight) bool {
	t.mu.Lock()
	if s.Number == 0 || s.identity != s.server || s.Number < t.current.Number {
		t.mu.Unlock()
		return false
	}
	before := t.current.Number
	mine := t.changes
	t.current, t.changes = s.marker, false
	t.mu.Unlock()
	if s.Number > before && (before > 0 || mine) {
		s.log(ctx, before)
	}
	return true
}
