package bundle

import (
	"context"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/generation"
)

// newTracker returns the tracker of the generations of Redis; conn is nil without Firestore. Records that stand in for Firestore
// are those of processes that have installed the first generation themselves.
func newTracker(c Config, conn *firestoreconn.Conn) *generation.Tracker {
	o := generation.Options{Lease: c.Policy.LongestLease()}
	switch {
	case c.Records != nil:
		o.First = func(context.Context) (bool, error) { return false, nil }
	case conn != nil:
		o.First = generation.NewFirestore(conn).First
	}
	return generation.New(o)
}
