package collapse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

var (
	// ErrWait says that no answer came within [Policy.Wait]. The caller has
	// asked the origin for nothing; it may try again.
	ErrWait = errors.New("collapse: no answer within the longest wait")

	// ErrOrigin says that the fetch failed: here, then the Fetch's own error is
	// wrapped too, or in another instance, then only its text is known.
	ErrOrigin = errors.New("collapse: the origin failed")

	// ErrClosed says that the Group was closed.
	ErrClosed = errors.New("collapse: closed")
)

// Fetch asks the origin. ctx ends after [Policy.Timeout], not with the caller
// whose Fetch it is: others may wait for the answer, so a Fetch must use
// nothing that ends with its caller. stored is nil, or the last value of the
// key, for a conditional request; a Fetch that learns that it has not changed
// answers with that value and new times. A panic is an error.
type Fetch func(ctx context.Context, stored *Stored) (Answer, error)

// Stored is a value that is not fresh any more, or has another stamp. It must
// not be modified.
type Stored struct {
	// Value is as the Fetch that stored it returned it.
	Value []byte
	// Age counts from when the origin made it, as far as is known.
	Age time.Duration
}

// Answer is what a Fetch brings.
type Answer struct {
	// Value is shared and stored. It must not be modified afterwards; empty is
	// a value.
	Value []byte

	// Stream, when set, is the answer instead of Value: one too long to hold.
	// It goes to one caller, as Private does; the context of the Fetch lives
	// until it is closed, or times out.
	Stream io.ReadCloser

	// Times overrides the policy's.
	Times *Times

	// Age is how old the value was when the origin gave it out.
	Age time.Duration

	// Private says that the answer is for the one caller whose Fetch it was.
	Private bool

	// Failed says that the answer is the origin's failure: a stored value goes
	// before it, for as long as Times.IfError said, and it lives for NegativeTTL.
	Failed bool
}

// Outcome is how an answer was found.
type Outcome string

const (
	// Miss: it was fetched in a flight, for this caller or for another.
	Miss Outcome = "miss"
	// Hit: it was stored and fresh.
	Hit Outcome = "hit"
	// Stale: it was stored and not fresh; another caller is fetching a new one,
	// or the origin fails.
	Stale Outcome = "stale"
	// Pass: it was fetched for this caller alone.
	Pass Outcome = "pass"
)

// What Result.Detail may say.
const (
	// DetailRedis: Redis is out of reach or refused; collapsed in this instance.
	DetailRedis = "redis"
	// DetailFull: the origin's budget is spent; collapsed in this instance.
	DetailFull = "full"
	// DetailLarge: longer than MaxValue; collapsed in this instance.
	DetailLarge = "large"
	// DetailStamp: a fetch of another stamp is under way; collapsed in this
	// instance.
	DetailStamp = "stamp"
	// DetailLost: the lease was lost, or the key invalidated, during the fetch.
	DetailLost = "lost"
)

// Result is the answer to one caller, with what Cache-Status and Age want.
type Result struct {
	// Value is shared with other callers: it must not be modified.
	Value []byte

	// Stream, when set, is the answer instead of Value. The caller closes it.
	Stream io.ReadCloser

	// Outcome is how the answer was found.
	Outcome Outcome

	// Collapsed says that it came from the flight of another caller, whom this
	// one waited for.
	Collapsed bool

	// Refetched says of a Miss that a value was there, but not fresh.
	Refetched bool

	// Stored says of a Miss that the answer was stored for later callers.
	Stored bool

	// Failed is the Answer's.
	Failed bool

	// TTL is how long the value stays fresh; negative when it is stale.
	TTL time.Duration

	// Age counts from when the origin made the value, as far as is known.
	Age time.Duration

	// Detail is one of the Detail constants, or empty.
	Detail string

	// Err is, for a Stale, why the origin's answer was not used, if that is
	// known here.
	Err error
}

// stream is an answer that holds something (a context, a turn) until it is
// closed.
type stream struct {
	io.ReadCloser
	once    sync.Once
	release func()
}

func (s *stream) Close() error {
	defer s.once.Do(s.release)
	return s.ReadCloser.Close()
}

// hold calls release now, or when the stream of the answer is closed.
func hold(a *Answer, release func()) {
	if a.Stream == nil {
		release()
		return
	}
	a.Stream = &stream{ReadCloser: a.Stream, release: release}
}

// call runs the fetch; a panic of it must not take the instance along.
func call(ctx context.Context, fetch Fetch, stored *Stored) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = Answer{}, fmt.Errorf("panic: %v", p)
		}
	}()
	if a, err = fetch(ctx, stored); err != nil {
		return Answer{}, err
	}
	return a, nil
}
