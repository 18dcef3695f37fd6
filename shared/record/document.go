package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Collection is the default collection of [Firestore], with what it needs of
// the database. Every query of this package is served by one of its indexes.
var Collection = firestoreconn.Collection{
	Name: "seriatim-requests",
	TTL:  "expire_at",
	Unindexed: []string{
		"fingerprint", "fence", "attempts", "reason", "detail", "target", "submitted", "started", "response",
		"payload_header", "payload_body", "expire_at",
	},
	Indexes: []firestoreconn.Index{
		{{Path: "lane"}, {Path: "ticket"}},
		{{Path: "lane"}, {Path: "status"}, {Path: "ticket"}},
		{{Path: "lane"}, {Path: "status"}, {Path: "finished", Descending: true}},
	},
}

// small are the fields of a list's documents: all but the large ones.
var small = []string{
	"lane", "id", "fingerprint", "ticket", "fence", "status", "attempts", "reason", "detail", "target", "submitted", "started",
	"finished", "expire_at",
}

// document is a Record as Firestore keeps it. A time that has not happened is
// null.
type document struct {
	Lane        string     `firestore:"lane"`
	ID          string     `firestore:"id"`
	Fingerprint string     `firestore:"fingerprint"`
	Ticket      int64      `firestore:"ticket"`
	Fence       int64      `firestore:"fence"`
	Status      string     `firestore:"status"`
	Attempts    int64      `firestore:"attempts"`
	Reason      string     `firestore:"reason"`
	Detail      string     `firestore:"detail"`
	Target      string     `firestore:"target"`
	Submitted   *time.Time `firestore:"submitted"`
	Started     *time.Time `firestore:"started"`
	Finished    time.Time  `firestore:"finished"`
	Response    []byte     `firestore:"response"`
	// The payload but for its body is JSON: a map of lists would be many index
	// entries. It and the body are null without a payload.
	PayloadHeader []byte    `firestore:"payload_header"`
	PayloadBody   []byte    `firestore:"payload_body"`
	ExpireAt      time.Time `firestore:"expire_at"`
}

// fields are all fields of r's document, so that an update with them leaves
// nothing of the one before.
func (r Record) fields() map[string]any {
	fields := map[string]any{
		"lane": r.Key, "id": r.ID, "fingerprint": r.Fingerprint, "ticket": r.Ticket, "fence": r.Fence, "status": string(r.Status),
		"attempts": r.Attempts, "reason": r.Reason, "detail": r.Detail, "target": r.Target, "submitted": instant(r.Submitted),
		"started": instant(r.Started), "finished": r.Finished, "response": r.Response, "payload_header": nil, "payload_body": nil,
		"expire_at": r.ExpireAt,
	}
	if r.Payload != nil {
		fields["payload_header"], fields["payload_body"] = r.Payload.header(), r.Payload.Body
	}
	return fields
}

func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// errDocument: somebody else writes into the collection.
var errDocument = errors.New("unreadable document")

func decode(snapshot *firestore.DocumentSnapshot) (Record, error) {
	var d document
	if err := snapshot.DataTo(&d); err != nil {
		return Record{}, fmt.Errorf("%w %s: %w", errDocument, snapshot.Ref.ID, err)
	}
	r := Record{
		Key: d.Lane, ID: d.ID, Fingerprint: d.Fingerprint, Ticket: d.Ticket, Fence: d.Fence, Status: Status(d.Status),
		Attempts: d.Attempts, Reason: d.Reason, Detail: d.Detail, Target: d.Target, Finished: d.Finished.UTC(),
		Response: d.Response, ExpireAt: d.ExpireAt.UTC(),
	}
	if d.Submitted != nil {
		r.Submitted = d.Submitted.UTC()
	}
	if d.Started != nil {
		r.Started = d.Started.UTC()
	}
	if d.PayloadHeader != nil {
		r.Payload = &Payload{Body: d.PayloadBody}
		if err := json.Unmarshal(d.PayloadHeader, r.Payload); err != nil {
			return Record{}, fmt.Errorf("%w %s: payload: %w", errDocument, snapshot.Ref.ID, err)
		}
	}
	return r, nil
}
