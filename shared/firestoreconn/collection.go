package firestoreconn

import "cloud.google.com/go/firestore"

// Collection declares what a collection needs of the database beside its
// documents, for the infrastructure to create and a test to compare with.
type Collection struct {
	// Name is the collection's id.
	Name string
	// TTL is the timestamp field whose documents Firestore deletes once it is
	// past, usually within a day.
	TTL string
	// Unindexed are the fields without the index that Firestore else gives to
	// every field: large ones, and those that grow with time, where an index
	// would be one hot spot.
	Unindexed []string
	// Indexes are the composite indexes that queries need.
	Indexes []Index
}

// Index is a composite index: its fields, in order. The document's name is the
// last one, in the direction of the field before it, and not listed.
type Index []Field

// Field is one field of an Index.
type Field struct {
	Path       string
	Descending bool
}

// Updates are the fields of a whole document as the update that overwrites
// one: unlike Set, an update can be made conditional on the document's last
// change. A field that is not in the map stays.
func Updates(document map[string]any) []firestore.Update {
	updates := make([]firestore.Update, 0, len(document))
	for path, value := range document {
		updates = append(updates, firestore.Update{Path: path, Value: value})
	}
	return updates
}
