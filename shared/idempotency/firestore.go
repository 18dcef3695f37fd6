package idempotency

import (
	"context"
	"time"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Collection is the default collection of [Firestore], with what it needs of
// the database.
var Collection = firestoreconn.Collection{
	Name:      "seriatim-idempotency",
	TTL:       "expire_at",
	Unindexed: []string{"owner", "fingerprint", "state", "life_ms", "result", "expire_at"},
}

// Firestore is a [Guard] in Firestore, for what must outlive Redis: one
// document per key, its name hashed. All writes are single ones under a
// precondition, never transactions, which many callers of one key would abort
// for each other. The one clock is Firestore's: a lease or retention counts
// from the document's last update, and is compared with the time of the read,
// since Firestore deletes expired documents only within about a day.
//
// A new key costs a write to take and one to settle; a repeated call costs one
// refused write and one read.
type Firestore struct {
	conn       *firestoreconn.Conn
	collection string
	timeout    time.Duration
}

var _ Guard = (*Firestore)(nil)

// FirestoreOptions are the settings of a [Firestore] guard.
type FirestoreOptions struct {
	// Collection holds the documents. Defaults to Collection.Name.
	Collection string
	// Timeout bounds each call, all its tries included. Defaults to 3 s.
	Timeout time.Duration
}

// NewFirestore returns a Guard on conn.
func NewFirestore(conn *firestoreconn.Conn, options FirestoreOptions) *Firestore {
	g := &Firestore{conn: conn, collection: options.Collection, timeout: options.Timeout}
	if g.collection == "" {
		g.collection = Collection.Name
	}
	if g.timeout <= 0 {
		g.timeout = 3 * time.Second
	}
	return g
}

// TryLock implements [Guard].
func (g *Firestore) TryLock(ctx context.Context, key ScopedKey, fingerprint string, lease time.Duration) (Answer, error) {
	if err := checkLock(ctx, key, fingerprint, lease); err != nil {
		return Answer{}, err
	}
	token := newToken(key, fingerprint)
	var answer Answer
	fields := token.fields("running", nil, lease)
	err := g.change(ctx, "trylock", token, func(ctx context.Context, doc *document) error {
		switch {
		case doc.held.owner == token.owner: // written by a try whose reply was lost
		case doc.live():
			answer = doc.held.answer(fingerprint, doc.now)
			return nil
		default:
			if err := doc.write(ctx, fields); err != nil {
				return err
			}
		}
		token.version = doc.version
		answer = Answer{State: Acquired, Token: token}
		return nil
	})
	return answer, err
}

// Accept implements [Guard].
func (g *Firestore) Accept(ctx context.Context, token Token, result []byte, retention time.Duration) error {
	if err := checkAccept(token, result, retention); err != nil {
		return err
	}
	fields := token.fields("done", result, retention)
	return g.change(ctx, "accept", token, func(ctx context.Context, doc *document) error {
		switch {
		case doc.held.owner == token.owner && doc.held.done:
			return nil
		case doc.held.owner != token.owner && doc.live():
			return ErrLost
		}
		return doc.write(ctx, fields)
	})
}

// Release implements [Guard].
func (g *Firestore) Release(ctx context.Context, token Token) error {
	if err := checkToken(token); err != nil {
		return err
	}
	return g.change(ctx, "release", token, func(ctx context.Context, doc *document) error {
		switch {
		case doc.held.owner == token.owner && !doc.held.done:
			return doc.remove(ctx)
		case doc.live():
			return ErrLost
		}
		return nil
	})
}
