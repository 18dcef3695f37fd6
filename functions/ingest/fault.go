package ingest

import (
	"errors"
	"strings"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
)

func malformedHeader(detail string, cause error) error {
	return problem.New(problem.MalformedHeader, detail).WithCause(cause)
}

// sentence makes an error text that is fit for clients a sentence.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// unavailable is for a Redis that did not answer before anything could have begun. An unreadable reply is a fault of ours.
func unavailable(err error) error {
	if errors.Is(err, slot.ErrReply) {
		return err
	}
	return problem.New(problem.Unavailable, "The state of the lane cannot be reached. Send the request again.").WithCause(err)
}

// outcomeUnknown is for a request that may run although it was not acknowledged.
func outcomeUnknown(err error) error {
	return problem.New(problem.OutcomeUnknown,
		"The request may still run once. Send it again with the same Idempotency-Key to learn what became of it.").WithCause(err)
}
