package idempotency

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Errors of [Do] beside those of its Guard.
var (
	// ErrRunning: another runs the operation now. Outcome.RetryAfter says how
	// long its lease lasts at most.
	ErrRunning = errors.New("an operation with this idempotency key is running")
	// ErrMismatch: the key belongs to another request.
	ErrMismatch = errors.New("the idempotency key was used with another request")
	// ErrUnrecorded: the handler succeeded, and its result, which is in the
	// Outcome, could not be stored: the cause is ErrUnavailable, ErrLost or
	// ErrInvalid (too large a result). A later caller may run the handler again
	// once the lease is over.
	ErrUnrecorded = errors.New("the operation is done, but its result could not be stored")
)

// settleWithin bounds how long Do goes on trying to store a result or to
// release the key, which it does also for a caller that has gone.
const settleWithin = 10 * time.Second

// Call says what Do is to guard. All fields are required.
type Call struct {
	Key ScopedKey
	// Fingerprint condenses the request; see [Fingerprint].
	Fingerprint string
	// Lease is the longest that the handler may take: its context ends then. A
	// handler that goes on regardless may be overlapped by the next one. It is
	// also how long the key stays locked when the process dies.
	Lease time.Duration
	// Retention is how long the result answers repeated calls. It should
	// outlast the last repetition: Cloud Tasks may deliver a task again for 31
	// days, a client gives up sooner.
	Retention time.Duration
}

// Outcome is what came of a Call.
type Outcome struct {
	// Result is the handler's, or the stored one, byte for byte.
	Result []byte
	// Replayed says that the handler did not run: the Result is the stored one.
	Replayed bool
	// RetryAfter comes with ErrRunning.
	RetryAfter time.Duration
}

// NoEffect marks a handler's error: nothing was done, so the key is free again
// at once. It returns nil for nil.
func NoEffect(err error) error {
	if err == nil {
		return nil
	}
	return noEffect{err}
}

type noEffect struct{ error }

func (e noEffect) Unwrap() error { return e.error }

// Do runs handler unless it ran before, and answers with its result. An answer
// that the client must get again, a refusal too, is a result: the handler
// returns it with a nil error.
//
// An error of the handler does not tell whether there was an effect, and a
// panic does not either: the key then stays locked until the lease is over,
// and the next caller runs the handler again. Only an error marked by
// [NoEffect] frees the key at once. Do returns the handler's error as it is,
// joined with a release's own, and does not catch panics.
//
// A handler that succeeded is never undone: a result that could not be stored
// is returned beside ErrUnrecorded.
func Do(ctx context.Context, guard Guard, call Call, handler func(context.Context) ([]byte, error)) (Outcome, error) {
	if call.Retention < time.Millisecond { // found out before there is an effect
		return Outcome{}, fmt.Errorf("%w: retention %v, the least is 1ms", ErrInvalid, call.Retention)
	}
	// The lease begins later, at the store, and so ends after this context.
	running, cancel := context.WithTimeout(ctx, call.Lease)
	defer cancel()
	answer, err := guard.TryLock(ctx, call.Key, call.Fingerprint, call.Lease)
	if err != nil {
		return Outcome{}, err
	}
	switch answer.State {
	case Done:
		return Outcome{Result: answer.Result, Replayed: true}, nil
	case Running:
		return Outcome{RetryAfter: answer.RetryAfter}, ErrRunning
	case Mismatch:
		return Outcome{}, ErrMismatch
	}
	result, err := run(running, handler)
	if err != nil {
		return Outcome{}, settleFailure(ctx, guard, answer.Token, err)
	}
	if err := accept(ctx, guard, answer.Token, result, call.Retention); err != nil {
		return Outcome{Result: result}, fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return Outcome{Result: result}, nil
}

// run calls the handler, if there is time left for it.
func run(ctx context.Context, handler func(context.Context) ([]byte, error)) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, NoEffect(fmt.Errorf("no time left to start the handler: %w", context.Cause(ctx)))
	}
	return handler(ctx)
}

func settleFailure(ctx context.Context, guard Guard, token Token, failure error) error {
	var certain noEffect
	if !errors.As(failure, &certain) {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	err := guard.Release(ctx, token)
	if err == nil || errors.Is(err, ErrLost) {
		return failure
	}
	return errors.Join(failure, err)
}

func accept(ctx context.Context, guard Guard, token Token, result []byte, retention time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := guard.Accept(ctx, token, result, retention)
		if err == nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return err
		}
	}
}
