package slot

import "context"

// Generation is one life of Redis.
type Generation struct {
	// Number grows by one with every loss of Redis that was noticed; the first is 1.
	Number int64
	// QuarantineUntil is the Redis instant in milliseconds before which nothing starts, 0 for none.
	QuarantineUntil int64
	// RestoreUntil is the Redis instant in milliseconds until which a lane that this Redis does not know may have been lost, 0 if
	// Redis was never lost.
	RestoreUntil int64
	// Young says that the generation is younger than the longest retention: an id that Redis does not know may have run.
	Young bool
}

// Generations is where the generation of Redis is kept, outside Redis.
type Generations interface {
	// Current returns the generation as last read; it may be stale.
	Current(ctx context.Context) (Generation, error)
	// Refresh reads the generation anew. Scripts call it when a lane turns out to be newer than Current said.
	Refresh(ctx context.Context) (Generation, error)
}

// Fixed is a Generations that never changes: for one process, whose Redis dies with it.
type Fixed Generation

// First is the generation of a Redis that has not been lost yet.
var First = Fixed{Number: 1}

// Current returns the generation.
func (f Fixed) Current(context.Context) (Generation, error) { return Generation(f), nil }

// Refresh returns the same generation.
func (f Fixed) Refresh(context.Context) (Generation, error) { return Generation(f), nil }
