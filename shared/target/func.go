package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Func is a Go function that does the work in this process, without an HTTP
// hop. It is a [Target].
//
// It is to return when ctx is done, which it is when the lease is lost: nobody
// can stop it from outside, and until it returns its lane waits. It may change
// req. A returned error is logged as it is, so it holds no payload.
//
//   - (response, nil): Status 0 means 200. 2xx is accepted, 408, 425, 429 and
//     5xx are retried, anything else is final; a status that is none of HTTP's
//     final ones (200-599) counts as an error.
//   - (_, error): retried, or final if the error wraps [ErrFinal].
//   - a panic: retried. It counts as an attempt, so that it ends.
type Func func(ctx context.Context, req Request) (Response, error)

// Do runs f once, in the caller's goroutine.
func (f Func) Do(ctx context.Context, req Request) Result {
	return f.do(ctx, req, defaultRetryable)
}

// With returns f as the target that cfg describes: its context ends after
// cfg.Timeout, and cfg.Retryable and cfg.RetryTimeout judge what comes of it.
// The rest of cfg is for HTTP.
func (f Func) With(cfg Config) Target { return configured{f, cfg.withDefaults()} }

type configured struct {
	f   Func
	cfg Config
}

// Do runs the function once, in the caller's goroutine.
func (c configured) Do(ctx context.Context, req Request) Result {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	result := c.f.do(ctx, req, c.cfg.Retryable)
	if result.Reason == ReasonTimeout && result.Outcome == Retry {
		result.Outcome = retryIf(c.cfg.RetryTimeout)
	}
	return result
}

func (f Func) do(ctx context.Context, req Request, retryable func(status int) bool) Result {
	// The caller may need them again, for the retry's task.
	req.Header, req.Body = req.Header.Clone(), bytes.Clone(req.Body)
	response, err := f.recovered(ctx, req)
	if response.Status == 0 {
		response.Status = 200
	}
	if err == nil && (response.Status < 200 || response.Status > 599) {
		err = fmt.Errorf("target function: returned status %d; return one of 200-599", response.Status)
	}
	if err != nil {
		return functionFailed(ctx, err)
	}
	return settle(response, retryable)
}

func functionFailed(ctx context.Context, err error) Result {
	result := Result{Outcome: Retry, Reason: ReasonError, Counts: true, Err: err}
	var p *panicError
	switch {
	case errors.As(err, &p):
		result.Reason = ReasonPanic
	case errors.Is(err, ErrFinal):
		result.Outcome = Final
	case contextReason(ctx) != "":
		result.Reason = contextReason(ctx)
	}
	return result
}

func (f Func) recovered(ctx context.Context, req Request) (response Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			response, err = Response{}, &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f(ctx, req)
}

type panicError struct {
	value any
	stack []byte
}

// Error has the stack, and the value's text only if it is an error: those are
// written to be logged, while any other value may hold the payload.
func (p *panicError) Error() string {
	if err, ok := p.value.(error); ok {
		return fmt.Sprintf("target function panicked: %v\n%s", err, p.stack)
	}
	return fmt.Sprintf("target function panicked with a value of type %T\n%s", p.value, p.stack)
}
