package generation

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Collection holds the one document of [Firestore]. It lasts as long as the deployment: no TTL.
var Collection = firestoreconn.Collection{Name: "seriatim-generation"}

const (
	document = "first"

	// youngFor is how long after its creation the document may be that of a process that has yet to write its marker, and
	// yieldFor how long one is waited for that may.
	youngFor = 10 * time.Second
	yieldFor = 2 * time.Second
)

// Firestore tells the first life of a deployment from the later ones: the first process ever creates a document. It is safe for
// concurrent use.
type Firestore struct {
	conn  *firestoreconn.Conn
	owner string
}

// NewFirestore returns one on conn, for one process.
func NewFirestore(conn *firestoreconn.Conn) *Firestore {
	return &Firestore{conn: conn, owner: rand.Text()}
}

// First says whether this process has created the document; asked again, it says the same. A process that comes second by a
// moment is held up for two seconds, so that the first one's marker is there before it could write one with a quarantine. ctx
// bounds the call.
func (f *Firestore) First(ctx context.Context) (bool, error) {
	client, err := f.conn.Client()
	if err != nil {
		return false, fmt.Errorf("ask for the first life: %w", err)
	}
	ref := client.Collection(Collection.Name).Doc(document)
	_, err = ref.Create(ctx, map[string]any{"owner": f.owner})
	if err == nil {
		return true, nil
	}
	if status.Code(err) != codes.AlreadyExists {
		return false, fmt.Errorf("ask for the first life: %w", err)
	}
	seen, err := firestoreconn.Read(ctx, ref)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the first life: %w", err)
	case seen == nil: // somebody has deleted it meanwhile
		return false, nil
	}
	if owner, _ := seen.Data()["owner"].(string); owner == f.owner {
		return true, nil
	}
	if seen.ReadTime.Sub(seen.CreateTime) < youngFor {
		yield(ctx)
	}
	return false, nil
}

func yield(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, yieldFor)
	defer cancel()
	<-ctx.Done()
}
