package firestoreconn

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// away are the codes by which Firestore, or the way to it, says that it cannot
// serve now.
var away = []codes.Code{
	codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal, codes.Aborted,
}

// IsUnavailable reports whether err, from a call of Firestore, means that it
// cannot serve now: there is no connection, no answer in time (the deadline of
// the caller's context included), a quota is spent, or a document is written
// by too many at once. The call may still have taken effect when its reply was
// lost. A caller that cancelled its own call has found out nothing about
// Firestore: false.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrContended) || slices.Contains(away, status.Code(err))
}
