package firestoreconn

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
