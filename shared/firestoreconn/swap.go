package firestoreconn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Swaps bounds the tries of one [Swap]. A failed one means that another
// caller's succeeded, or that Firestore saw contention: most need one, those
// that meet another on the same document two.
const Swaps = 6

// Swap runs step, which reads and writes one document under a precondition,
// until its write is not refused, at most Swaps times. It is how documents are
// changed here: many callers of one document would abort each other's
// transactions. try counts from 0.
//
// The error is step's own, or ErrContended with the last refusal. For a caller
// that is like a store that is away: see [IsUnavailable].
func Swap(ctx context.Context, step func(try int) error) error {
	var err error
	for try := range Swaps {
		if err = step(try); !refused(err) {
			return err
		}
		if status.Code(err) == codes.Aborted { // many write at once
			if slept := gax.Sleep(ctx, rand.N(20*time.Millisecond<<try)); slept != nil {
				return slept
			}
		}
	}
	return fmt.Errorf("%w after %d tries: %w", ErrContended, Swaps, err)
}

// ErrContended: others wrote the document each time that [Swap] tried.
var ErrContended = errors.New("document written by others")

// refused tells whether a write was not made because the document is not as
// believed, or was written by others at the same time.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.AlreadyExists, codes.NotFound, codes.FailedPrecondition, codes.Aborted:
		return true
	}
	return false
}

// Read returns the document, or nil where there is none.
func Read(ctx context.Context, ref *firestore.DocumentRef) (*firestore.DocumentSnapshot, error) {
	snapshot, err := ref.Get(ctx)
	if snapshot != nil && !snapshot.Exists() {
		return nil, nil
	}
	return snapshot, err // without a snapshot it is the database that was not found
}

// Write puts fields in place of the document whose last update was at version,
// or creates the document if version is zero; it returns the new version. A
// field that the old document had and fields has not stays.
func Write(ctx context.Context, ref *firestore.DocumentRef, version time.Time, fields map[string]any) (time.Time, error) {
	result, err := write(ctx, ref, version, fields)
	if err != nil {
		return time.Time{}, err
	}
	return result.UpdateTime, nil
}

func write(ctx context.Context, ref *firestore.DocumentRef, version time.Time, fields map[string]any) (*firestore.WriteResult, error) {
	if version.IsZero() {
		return ref.Create(ctx, fields)
	}
	updates := make([]firestore.Update, 0, len(fields))
	for path, value := range fields {
		updates = append(updates, firestore.Update{Path: path, Value: value})
	}
	// Set takes no precondition, Update does.
	return ref.Update(ctx, updates, firestore.LastUpdateTime(version))
}
