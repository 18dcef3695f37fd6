package marks

import (
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// Collection is the default collection of [Firestore], with what it needs of the database. There are no queries: the index of
// paused lanes is for operators, who find them by it.
var Collection = firestoreconn.Collection{
	Name:      "seriatim-lanes",
	TTL:       "expire_at",
	Unindexed: []string{"purged", "parked", "horizon", "targets", "expire_at"},
}

// document is a content as Firestore keeps it. A horizon that is not set is null, and so are the targets of a lane.
type document struct {
	Lane     string     `firestore:"lane"`
	Paused   bool       `firestore:"paused"`
	Purged   int64      `firestore:"purged"`
	Parked   []int64    `firestore:"parked"`
	Horizon  *time.Time `firestore:"horizon"`
	Targets  []string   `firestore:"targets"`
	ExpireAt time.Time  `firestore:"expire_at"`
}

// fields are all fields of c's document.
func (c content) fields(expireAt time.Time) map[string]any {
	fields := map[string]any{
		"lane": c.lane, "paused": c.marks.Paused, "purged": c.marks.Purged, "parked": c.marks.Parked, "horizon": nil,
		"targets": c.targets, "expire_at": expireAt,
	}
	if !c.marks.Horizon.IsZero() {
		fields["horizon"] = c.marks.Horizon
	}
	return fields
}

// errDocument: somebody else writes into the collection.
var errDocument = errors.New("unreadable document")

func decode(snapshot *firestore.DocumentSnapshot) (content, time.Time, error) {
	var d document
	if err := snapshot.DataTo(&d); err != nil {
		return content{}, time.Time{}, fmt.Errorf("%w %s: %w", errDocument, snapshot.Ref.ID, err)
	}
	c := content{lane: d.Lane, marks: Marks{Paused: d.Paused, Purged: d.Purged, Parked: d.Parked}, targets: d.Targets}
	if d.Horizon != nil {
		c.marks.Horizon = *d.Horizon
	}
	c.marks = c.marks.normal()
	if c.lane == "" && c.targets == nil { // the client library reads an empty list as none
		c.targets = []string{}
	}
	return c, d.ExpireAt, nil
}
