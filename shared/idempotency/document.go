package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// slack is how long a document outlives its life, for an instance whose clock
// is ahead: only the deletion of what has expired goes by the instance's clock.
const slack = time.Hour

// document is a key's document as a call believes it to be. One with a zero
// version does not exist.
type document struct {
	ref     *firestore.DocumentRef
	held    held
	version time.Time // its last update
	now     time.Time // of the read, by Firestore's clock
}

// fields are what a token stores, alive for life from the write on.
func (t Token) fields(state string, result []byte, life time.Duration) map[string]any {
	return map[string]any{
		"owner": t.owner, "fingerprint": []byte(t.fingerprint), "state": state, "result": result,
		"life_ms": milliseconds(life), "expire_at": time.Now().Add(life + slack),
	}
}

// change has step look at the token's document and write it. The first belief
// costs no read: a new token's document does not exist, and one that was
// written is as it was written.
func (g *Firestore) change(ctx context.Context, verb string, token Token, step func(context.Context, *document) error) error {
	client, err := g.conn.Client()
	if err != nil {
		return fmt.Errorf("idempotency %s in Firestore: %w", verb, err)
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	doc := &document{ref: client.Collection(g.collection).Doc(token.key.hash()), version: token.version}
	if !token.version.IsZero() {
		doc.held = held{owner: token.owner, fingerprint: token.fingerprint}
	}
	err = firestoreconn.Swap(ctx, func(try int) error {
		if try > 0 {
			if err := doc.read(ctx); err != nil {
				return err
			}
		}
		return step(ctx, doc)
	})
	switch {
	case err == nil:
		return nil
	case firestoreconn.IsUnavailable(err):
		return fmt.Errorf("idempotency %s in Firestore: %w: %w", verb, ErrUnavailable, err)
	default:
		return fmt.Errorf("idempotency %s in Firestore: %w", verb, err)
	}
}

func (d *document) live() bool { return d.held.live(d.now) }

func (d *document) read(ctx context.Context) error {
	snapshot, err := firestoreconn.Read(ctx, d.ref)
	if err != nil {
		return err
	}
	if snapshot == nil {
		d.held, d.version = held{}, time.Time{}
		return nil
	}
	var stored struct {
		Owner       string `firestore:"owner"`
		Fingerprint []byte `firestore:"fingerprint"` // any bytes; a string would have to be UTF-8
		State       string `firestore:"state"`
		Result      []byte `firestore:"result"`
		Life        int64  `firestore:"life_ms"`
	}
	if err := snapshot.DataTo(&stored); err != nil {
		return fmt.Errorf("%w %s: %w", errDocument, d.ref.ID, err)
	}
	d.version, d.now = snapshot.UpdateTime, snapshot.ReadTime
	d.held = held{
		owner: stored.Owner, fingerprint: string(stored.Fingerprint), done: stored.State == "done", result: stored.Result,
		ends: d.version.Add(time.Duration(stored.Life) * time.Millisecond),
	}
	return nil
}

// errDocument: somebody else writes into the collection.
var errDocument = errors.New("unreadable document")

// write puts the document in place of what it is believed to be.
func (d *document) write(ctx context.Context, fields map[string]any) error {
	version, err := firestoreconn.Write(ctx, d.ref, d.version, fields)
	if err != nil {
		return err
	}
	d.version = version
	return nil
}

func (d *document) remove(ctx context.Context) error {
	_, err := d.ref.Delete(ctx, firestore.LastUpdateTime(d.version))
	return err
}
