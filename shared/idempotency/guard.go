package idempotency

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Errors of a [Guard] and of [Do]. No error holds a key, fingerprint or result.
var (
	// ErrInvalid: an argument is out of bounds; the text says which. Nothing
	// was changed.
	ErrInvalid = errors.New("invalid argument of an idempotency guard")
	// ErrLost: the token holds the key no more. Its lease lapsed and another
	// took the key over, or, of Release, its result was accepted before.
	ErrLost = errors.New("the token holds the idempotency key no more")
	// ErrUnavailable: the store cannot serve now. The call may still have taken
	// effect when its answer was lost.
	ErrUnavailable = errors.New("idempotency store unavailable")
)

// Bounds of a Guard's arguments.
const (
	// MaxScopedKey is the length of the longest key with its scope, in bytes.
	MaxScopedKey = 1024
	// MaxResult is the size of the largest result, in bytes.
	MaxResult = 256 << 10
)

// Guard admits one handler per key: the store behind an idempotent operation.
// Every write is a compare-and-set on the token's owner, a nonce of one
// TryLock. What has lapsed or expired is as if it had never been. A Guard is
// safe for concurrent use.
type Guard interface {
	// TryLock takes the key for lease, at least 1 ms, or says what became of it.
	// When it fails with ErrUnavailable the key may be taken, with nobody to
	// settle it, until the lease is over.
	TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error)
	// Accept stores result, at most MaxResult bytes, as the answer to every
	// TryLock with the token's key for retention, at least 1 ms. The effect has
	// happened: a lapsed lease is no obstacle, only another owner (ErrLost) is.
	// It may be repeated with the same result, whose retention stays.
	Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error
	// Release frees the key. To release a key that is free already is no error.
	Release(ctx context.Context, token Token) error
}

// ScopedKey names an operation. Both parts are required, together at most
// MaxScopedKey bytes of any kind.
type ScopedKey struct {
	// Scope is the name space of Key, such as tenant and route: the same key of
	// two clients is two operations.
	Scope string
	// Key is what the client chose, as of [ParseKey].
	Key string
}

// State says what TryLock found.
type State string

// The states. Whoever is not Acquired must not run the handler.
const (
	Acquired State = "acquired" // the key is the caller's until the lease ends
	Running  State = "running"  // another holds it
	Done     State = "done"     // the result is stored
	Mismatch State = "mismatch" // held or stored under another fingerprint
)

// Answer is what TryLock found.
type Answer struct {
	State State
	// Token settles the key; of Acquired only.
	Token Token
	// Result is the stored result; of Done only.
	Result []byte
	// RetryAfter is what is left of the other's lease; of Running only.
	RetryAfter time.Duration
}

// Token proves who holds a key. It is made by TryLock and good for the Guard
// that made it, and for others over the same store.
type Token struct {
	key         ScopedKey
	fingerprint string
	owner       string
	version     time.Time // of the Firestore document; zero elsewhere
}

func newToken(key ScopedKey, fingerprint string) Token {
	return Token{key: key, fingerprint: fingerprint, owner: rand.Text()}
}

// hash is the key as stores know it: of bounded length and an even spread,
// and readable to nobody.
func (k ScopedKey) hash() string {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(k.Scope))))
	h.Write([]byte(k.Scope))
	h.Write([]byte(k.Key))
	return idEncoding.EncodeToString(h.Sum(nil))
}

func checkLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) error {
	switch {
	case key.Scope == "" || key.Key == "":
		return fmt.Errorf("%w: scope or key is empty; give both", ErrInvalid)
	case len(key.Scope)+len(key.Key) > MaxScopedKey:
		return fmt.Errorf("%w: scope and key have %d bytes, the most is %d", ErrInvalid, len(key.Scope)+len(key.Key), MaxScopedKey)
	case fingerprint == "" || len(fingerprint) > MaxScopedKey:
		return fmt.Errorf("%w: the fingerprint has %d bytes, give 1-%d", ErrInvalid, len(fingerprint), MaxScopedKey)
	case lease < time.Millisecond:
		return fmt.Errorf("%w: lease %v, the least is 1ms", ErrInvalid, lease)
	}
	return context.Cause(ctx) // a caller without time left must not take a key
}

func checkAccept(token Token, result []byte, retention time.Duration) error {
	switch {
	case len(result) > MaxResult:
		return fmt.Errorf("%w: the result has %d bytes, the most is %d", ErrInvalid, len(result), MaxResult)
	case retention < time.Millisecond:
		return fmt.Errorf("%w: retention %v, the least is 1ms", ErrInvalid, retention)
	}
	return checkToken(token)
}

func checkToken(token Token) error {
	if token.owner == "" {
		return fmt.Errorf("%w: the token was made by no TryLock", ErrInvalid)
	}
	return nil
}

// held is who has a key, for the stores that decide in Go.
type held struct {
	owner, fingerprint string
	done               bool
	result             []byte
	ends               time.Time // of the lease, or of the retention
}

// live tells whether the key is taken at all.
func (h held) live(now time.Time) bool { return now.Before(h.ends) }

// answer is TryLock's to another who finds the live h.
func (h held) answer(fingerprint string, now time.Time) Answer {
	switch {
	case h.fingerprint != fingerprint:
		return Answer{State: Mismatch}
	case h.done:
		return Answer{State: Done, Result: h.result}
	default:
		return Answer{State: Running, RetryAfter: h.ends.Sub(now)}
	}
}
