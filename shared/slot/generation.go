package slot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Generation is one life of Redis.
type Generation struct {
	// Number grows with every loss of Redis that was noticed: Redis microseconds, or a little more where losses follow one another at
	// once. Of a Redis that is never lost it may be 1.
	Number int64
	// QuarantineUntil is the Redis instant in milliseconds before which nothing starts, 0 for none.
	QuarantineUntil int64
	// RestoreUntil is the Redis instant in milliseconds until which a lane that Redis does not know, or knows from an older
	// generation, may have been lost; 0: Redis was never lost.
	RestoreUntil int64
	// Emptied is the number of the generation that found Redis empty last, 0 for none: a lane of an older one began after that, by a
	// caller who had not noticed yet.
	Emptied int64
}

// Generations tells the generation of Redis.
type Generations interface {
	// Current returns what is known now. It neither blocks nor does I/O: it is asked while a script is written to its connection.
	Current() (Generation, error)
	// Refresh finds the generation out anew. Scripts call it when a lane turns out to be newer than Current said.
	Refresh(ctx context.Context) error
	// Verify makes sure that Redis still is of the generation of that number: a lane may be new because Redis was emptied. The
	// error is ErrLost where it is not.
	Verify(ctx context.Context, number int64) error
}

// NewFor is how long a lane counts as new, in which case Verify is asked: longer than a call takes with all that is sent again.
const NewFor = 10 * time.Second

// ErrLost says that Redis was lost while a script ran: what the script answered stands for nothing. The next call knows.
var ErrLost = errors.New("slot: Redis was emptied: send the call again")

// Fixed is a Generations that never changes: for one process, whose Redis dies with it.
type Fixed Generation

// First is the generation of a Redis that has not been lost yet.
var First = Fixed{Number: 1}

// Current returns the generation.
func (f Fixed) Current() (Generation, error) { return Generation(f), nil }

// Refresh changes nothing.
func (f Fixed) Refresh(context.Context) error { return nil }

// Verify returns nil.
func (f Fixed) Verify(context.Context, int64) error { return nil }

// generation is an argument of a script that is made while the script is written to its connection. A connection says before its
// first script whether Redis was lost (package generation), so that no script reaches a Redis with the generation of before.
type generation struct{ Generations }

// MarshalBinary is called by go-redis.
func (g generation) MarshalBinary() ([]byte, error) {
	now, err := g.Current()
	return fmt.Appendf(nil, "%d|%d|%d|%d", now.Number, now.QuarantineUntil, now.RestoreUntil, now.Emptied), err
}

// Marks are what outlives Redis of a lane beside its requests.
type Marks struct {
	// Paused says that the lane is paused.
	Paused bool
	// Purged is the ticket below which all that waited was cancelled, 0 for none.
	Purged int64
	// Reach is the instant in milliseconds until which tasks of the lane may still come, 0 for none.
	Reach int64
	// Parked are tickets on which the lane stands.
	Parked []int64
}

const (
	unread   = ""  // marks of a call that has not asked for what was kept
	readOnly = "-" // those of a script that only reads
)

// argument is m as the scripts take it.
func (m Marks) argument() string {
	var parked strings.Builder
	for _, t := range m.Parked {
		parked.WriteString(strconv.FormatInt(t, 10) + ",")
	}
	return fmt.Sprintf("%d|%d|%d|%s", bit(m.Paused), m.Purged, m.Reach, parked.String())
}
