package record

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Firestore is the store of production: one document per request. A Put of a
// new request is one write. It is safe for concurrent use.
type Firestore struct {
	conn       *firestoreconn.Conn
	collection string
	timeout    time.Duration
}

// Options are the settings of a [Firestore] store.
type Options struct {
	// Collection holds the documents. Defaults to Collection.Name.
	Collection string
	// Timeout bounds each call, all its tries included. Defaults to 3 s.
	Timeout time.Duration
}

// NewFirestore returns a store on conn.
func NewFirestore(conn *firestoreconn.Conn, options Options) *Firestore {
	s := &Firestore{conn: conn, collection: options.Collection, timeout: options.Timeout}
	if s.collection == "" {
		s.collection = Collection.Name
	}
	if s.timeout <= 0 {
		s.timeout = 3 * time.Second
	}
	return s
}

// Put stores r unless the store holds a record of the same request that does
// not give way: one of a higher ticket, or of the same, or of any that is done.
// It returns the record that the store holds now: r itself, or, without an
// error, the other one, which is r's outcome too if ticket and fence are the
// same.
func (s *Firestore) Put(ctx context.Context, r Record) (Record, error) {
	if err := r.validate(); err != nil {
		return Record{}, err
	}
	r = r.rounded()
	fields := r.fields()
	err := s.call(ctx, "put", func(ctx context.Context, c *firestore.CollectionRef) error {
		ref := c.Doc(name(r.Key, r.ID))
		return firestoreconn.Swap(ctx, func(try int) error {
			var seen stored
			var err error
			if try > 0 { // most requests are new
				if seen, err = read(ctx, ref); err != nil {
					return err
				}
			}
			if seen.alive() && !seen.record.yields(r) {
				r = seen.record
				return nil
			}
			_, err = firestoreconn.Write(ctx, ref, seen.version, fields)
			return err
		})
	})
	if err != nil {
		return Record{}, err
	}
	return r, nil
}

// Get returns the record of a request, unless there is none or it has expired.
func (s *Firestore) Get(ctx context.Context, key, id string) (r Record, found bool, err error) {
	if err := validName(key, id); err != nil {
		return Record{}, false, err
	}
	err = s.call(ctx, "get", func(ctx context.Context, c *firestore.CollectionRef) error {
		seen, err := read(ctx, c.Doc(name(key, id)))
		if seen.alive() {
			r, found = seen.record, true
		}
		return err
	})
	return r, found, err
}

// Delete removes the record of a request, so that its id can be used again,
// unless it is of a higher ticket than the one given. That there is none is no
// error.
func (s *Firestore) Delete(ctx context.Context, key, id string, ticket int64) error {
	if err := validName(key, id); err != nil {
		return err
	}
	return s.call(ctx, "delete", func(ctx context.Context, c *firestore.CollectionRef) error {
		ref := c.Doc(name(key, id))
		return firestoreconn.Swap(ctx, func(int) error {
			seen, err := read(ctx, ref)
			if err != nil || seen.version.IsZero() || seen.record.Ticket > ticket {
				return err
			}
			_, err = ref.Delete(ctx, firestore.LastUpdateTime(seen.version))
			return err
		})
	})
}

// call runs fn within the time of one call, and classifies its error.
func (s *Firestore) call(ctx context.Context, verb string, fn func(context.Context, *firestore.CollectionRef) error) error {
	client, err := s.conn.Client()
	if err != nil {
		return fmt.Errorf("%s record: %w", verb, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err = fn(ctx, client.Collection(s.collection))
	switch {
	case err == nil:
		return nil
	case firestoreconn.IsUnavailable(err):
		return fmt.Errorf("%s record: %w: %w", verb, ErrUnavailable, err)
	default:
		return fmt.Errorf("%s record: %w", verb, err)
	}
}

// stored is a record with when it was written and read, by Firestore's clock.
// The zero value is none.
type stored struct {
	record       Record
	version, now time.Time
}

func (s stored) alive() bool { return s.now.Before(s.record.ExpireAt) }

func read(ctx context.Context, ref *firestore.DocumentRef) (stored, error) {
	snapshot, err := firestoreconn.Read(ctx, ref)
	if err != nil || snapshot == nil {
		return stored{}, err
	}
	r, err := decode(snapshot)
	return stored{r, snapshot.UpdateTime, snapshot.ReadTime}, err
}
