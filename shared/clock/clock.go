// Package clock is how ingest and executor reach time, randomness and goroutines: through small interfaces, so that a
// simulation can drive the real code on a virtual clock from one seed.
package clock

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// Clock tells time and starts goroutines. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the time with a monotonic reading, where there is one.
	Now() time.Time
	// After sends the time on the channel once d has passed; at once where d is not positive. stop frees the timer early.
	After(d time.Duration) (fired <-chan time.Time, stop func())
	// Go runs f in a goroutine of its own.
	Go(f func())
}

// Random makes nonces and jitter. Implementations are safe for concurrent use.
type Random interface {
	// Nonce returns a word that is unique for all practical purposes: 128 bits in lower-case base32.
	Nonce() string
	// Jitter returns a factor between 1-spread and 1+spread, uniformly.
	Jitter(spread float64) float64
}

// System is the real Clock and Random.
type System struct{}

// Now returns time.Now.
func (System) Now() time.Time { return time.Now() }

// After starts a time.Timer.
func (System) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Go is the go statement.
func (System) Go(f func()) { go f() }

// Nonce reads crypto/rand.
func (System) Nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand crashes the program instead
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// Jitter draws from math/rand/v2, which needs no seed.
func (System) Jitter(spread float64) float64 { return 1 + spread*(2*mathrand.Float64()-1) }

// Sleep blocks until d has passed on c, or ctx is done, and then returns the cause.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // also where d is over: select would choose at random
	}
	fired, stop := c.After(d)
	defer stop()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithTimeout is context.WithTimeoutCause on c: the context ends with cause once d has passed.
func WithTimeout(ctx context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	fired, stop := c.After(d)
	c.Go(func() {
		defer stop()
		select {
		case <-fired:
			cancel(cause)
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(context.Canceled) }
}
