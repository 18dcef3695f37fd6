package redisconn

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// dialTimeout bounds one connect, with TLS and AUTH: milliseconds inside a
	// VPC, but an instance that just woke has little CPU for a TLS handshake.
	dialTimeout = 2 * time.Second

	// ioTimeout bounds one write and one read. Every script is constant work
	// well under a millisecond, so two silent seconds mean a dead peer (the
	// usual case: a failover that left the old connection hanging), and the
	// call is better sent again on a new connection.
	ioTimeout = 2 * time.Second

	// poolSize bounds the connections of one instance; subscriptions come on
	// top. A call holds its connection for about a millisecond, so 32 carry
	// thousands of calls a second, whatever the number of CPUs (go-redis would
	// take 10 for each); a hundred instances stay far below the 65,000 clients
	// that Memorystore admits.
	poolSize = 32
)

// Option changes what Open would set.
type Option func(*redis.Options)

// OnConnect has fn called with every new connection, those of subscriptions
// too, before its first command. An error of fn closes the connection and is,
// without what wraps it, the error of the call that wanted the connection.
func OnConnect(fn func(context.Context, *redis.Conn) error) Option {
	return func(opts *redis.Options) { opts.OnConnect = fn }
}

// Open returns a client for cfg. It connects when the first command is sent,
// so that a function starts, and can say what is wrong, while Redis is away.
// The error is a fault of cfg, as in FromEnv. The client is safe for
// concurrent use; the caller closes it.
func Open(cfg Config, options ...Option) (*redis.Client, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	// RESP2: scripts answer in its types anyway, and nothing here wants
	// RESP3's push frames, for which go-redis would look before every reply.
	opts.Protocol = 2
	opts.ClientName = ""
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	opts.ContextTimeoutEnabled = true
	opts.DialTimeout = dialTimeout
	opts.ReadTimeout = ioTimeout
	opts.WriteTimeout = ioTimeout
	// MaxRetries stays at its default of 3, and each of those dials anew; the
	// dialer's own five tries inside each would only multiply the wait.
	opts.DialerRetries = 1
	opts.PoolSize = poolSize
	for _, option := range options {
		option(opts)
	}
	return redis.NewClient(opts), nil
}

// debugLog takes what go-redis would print to standard error, one line for
// every failed dial: an outage is reported by the errors of the calls.
type debugLog struct{}

func (debugLog) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, "go-redis says", "text", fmt.Sprintf(format, args...))
}

// go-redis has one logger for all clients of a process.
func init() { redis.SetLogger(debugLog{}) }
