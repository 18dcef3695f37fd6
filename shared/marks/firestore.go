package marks

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Firestore is the store of production: one document per lane. A Read is one read; a Change one read, and one write where it
// changes something. Nothing is deleted but by the TTL of the database. It is safe for concurrent use.
type Firestore struct {
	verbs
	conn    *firestoreconn.Conn
	options Options
}

// Options are the settings of a [Firestore] store.
type Options struct {
	// Collection holds the documents. Defaults to Collection.Name.
	Collection string
	// Timeout bounds each call, all its tries included. Defaults to 3 s.
	Timeout time.Duration
	// Now is the clock by which marks live. Defaults to time.Now.
	Now func() time.Time
}

const defaultTimeout = 3 * time.Second

// NewFirestore returns a store on conn.
func NewFirestore(conn *firestoreconn.Conn, options Options) *Firestore {
	if options.Collection == "" {
		options.Collection = Collection.Name
	}
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Firestore{conn: conn, options: options}
	s.documents = s
	return s
}

func (s *Firestore) read(ctx context.Context, name string) (content, error) {
	var c content
	err := s.call(ctx, "read", name, func(ctx context.Context, ref *firestore.DocumentRef) error {
		var err error
		c, _, err = s.stored(ctx, ref)
		return err
	})
	return c, err
}

func (s *Firestore) change(ctx context.Context, name string, change func(*content)) (content, error) {
	var next content
	err := s.call(ctx, "change", name, func(ctx context.Context, ref *firestore.DocumentRef) error {
		return firestoreconn.Swap(ctx, func(int) error {
			held, version, err := s.stored(ctx, ref)
			if err != nil {
				return err
			}
			next = held.clone()
			if change(&next); next.equal(held) {
				return nil
			}
			_, err = firestoreconn.Write(ctx, ref, version, next.fields(s.options.Now().Add(next.life())))
			return err
		})
	})
	if err != nil {
		return content{}, err
	}
	return next, nil
}

// stored returns what a document holds, nothing where it is past its life, and when it was written: zero where there is none.
func (s *Firestore) stored(ctx context.Context, ref *firestore.DocumentRef) (content, time.Time, error) {
	snapshot, err := firestoreconn.Read(ctx, ref)
	if err != nil || snapshot == nil {
		return content{}, time.Time{}, err
	}
	c, expireAt, err := decode(snapshot)
	if !s.options.Now().Before(expireAt) {
		c = content{}
	}
	return c, snapshot.UpdateTime, err
}

// call runs fn within the time of one call, and classifies its error.
func (s *Firestore) call(ctx context.Context, verb, name string, fn func(context.Context, *firestore.DocumentRef) error) error {
	client, err := s.conn.Client()
	if err != nil {
		return fmt.Errorf("%s marks: %w", verb, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err = fn(ctx, client.Collection(s.options.Collection).Doc(name))
	switch {
	case err == nil:
		return nil
	case firestoreconn.IsUnavailable(err):
		return fmt.Errorf("%s marks: %w: %w", verb, ErrUnavailable, err)
	default:
		return fmt.Errorf("%s marks: %w", verb, err)
	}
}
