package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// settle judges a response. A 2xx that is too large is accepted as far as it
// goes: the work is done, and another attempt would only do it again.
func settle(r Response, retryable func(status int) bool) Result {
	if len(r.Body) > Limit {
		r.Body, r.Truncated = r.Body[:Limit:Limit], true
	}
	result := Result{
		Response: &r,
		Reason:   ReasonStatus,
		Counts:   r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable,
	}
	switch {
	case r.Status/100 == 2:
		result.Outcome = Accept
		return result
	case retryable(r.Status):
		result.Outcome = Retry
	default:
		result.Outcome = Final
	}
	result.Err = fmt.Errorf("answered %d", r.Status)
	if r.Truncated {
		result.Reason = ReasonTooLarge
		result.Err = fmt.Errorf("answered %d with more than %d bytes", r.Status, Limit)
	}
	return result
}

// failed judges an attempt without a response. What ended the context, if
// anything did, explains the error better than the error does; only where
// nothing was sent, running out of time is still no attempt.
func (h *HTTP) failed(ctx context.Context, reason string, err error) Result {
	sent := reason == ReasonBroken
	if ended := contextReason(ctx); ended != "" && (sent || ended != ReasonTimeout) {
		reason, err = ended, context.Cause(ctx)
	}
	result := Result{
		Reason:  reason,
		Outcome: Retry,
		Counts:  reason != ReasonRefused && reason != ReasonCredentials,
		Err:     fmt.Errorf("target %q: %s: %w", h.cfg.Name, reason, err),
	}
	switch reason {
	case ReasonInvalid:
		result.Outcome = Final
	case ReasonRefused:
		result.Outcome = retryIf(h.cfg.RetryRefused)
	case ReasonTimeout, ReasonBroken:
		result.Outcome = retryIf(h.cfg.RetryTimeout)
	}
	return result
}

func retryIf(yes bool) Outcome {
	if yes {
		return Retry
	}
	return Final
}

// contextReason returns the reason for which ctx is done, empty if it is not.
func contextReason(ctx context.Context) string {
	switch {
	case ctx.Err() == nil:
		return ""
	case errors.Is(context.Cause(ctx), ErrLeaseLost):
		return ReasonLeaseLost
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ReasonTimeout
	}
	return ReasonCanceled
}

// withoutServerText drops from an error of net/http what the server sent:
// it stands in quotes, and what follows it says no more.
func withoutServerText(err error) error {
	text, _, quoted := strings.Cut(err.Error(), `"`)
	if !quoted {
		return err
	}
	return errors.New(text + "(not logged)")
}
