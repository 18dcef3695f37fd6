package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// refusals begin the replies by which a server says that it serves nobody, or
// not us, for now: after a restart, in a failover, behind a slow script, with
// a password that has just been changed. go-redis takes off a leading "ERR ".
var refusals = []string{
	"LOADING ", "READONLY ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "NOREPLICAS ", "MISCONF ", "BUSY ",
	"NOAUTH ", "WRONGPASS ", "max number of clients reached",
}

// ErrReplica is what a connection to a replica is refused with. To go-redis it
// is a reply of the server: it tries again on a new connection, which may lead
// to the primary.
var ErrReplica error = refusal("READONLY this connection leads to a replica")

// ErrNotReady says that a connection is there, but that what must be known
// about its server is not.
var ErrNotReady = errors.New("redis is not ready")

// refusal is a reply that we give in the server's place.
type refusal string

func (r refusal) Error() string { return string(r) }

// RedisError makes it a [redis.Error].
func (refusal) RedisError() {}

// broken connections, as far as they are values; see also isConnection.
var broken = []error{
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted, ErrNotReady,
}

// IsUnreachable reports whether err, from a call of Redis, means that Redis
// cannot serve calls now: there is no connection, no answer in time (the
// deadline of the caller's context included), or a server that refuses all.
// The call may still have taken effect when its reply was lost. A caller that
// cancelled its own call has found out nothing about Redis: false.
func IsUnreachable(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case redis.IsReadOnlyError(err): // also inside a script's error of Redis 6
		return true
	}
	return slices.ContainsFunc(refusals, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }) ||
		isConnection(err)
}

func isConnection(err error) bool {
	var (
		network     net.Error // context.DeadlineExceeded is one
		alert       tls.AlertError
		record      tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
	)
	return errors.As(err, &network) || errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &certificate) ||
		slices.ContainsFunc(broken, func(target error) bool { return errors.Is(err, target) })
}

// IsFull reports whether err is Redis refusing a write for want of memory.
// Redis answers reads, and scripts that begin by freeing memory still run.
func IsFull(err error) bool {
	if redis.IsOOMError(err) {
		return true
	}
	// Redis 6 puts a command's error inside the script's own.
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "-OOM command not allowed")
}
