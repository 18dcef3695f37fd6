package slot

import (
	"context"
	"time"
)

// What Redis keeps of a record that is durable outside it.
const (
	// FlushedResponse is the longest response that stays, in bytes.
	FlushedResponse = 16 << 10
	// FlushedLife is how long after the end of its request it stays.
	FlushedLife = 15 * time.Minute
)

// FlushedRequest says of a terminal record that it is durable outside Redis.
type FlushedRequest struct {
	ID            string
	Ticket, Fence int64
	// Same says that the durable record has the response that Redis has; else the one in Redis goes at once.
	Same bool
	// Held is how the request ended by the durable record, where that is not as Redis has it: its first end stays. Empty: the same.
	Held Status
	// Keyed says that the client can ask again under the same id: then the record stays as a tombstone for the retention, else
	// for FlushedLife.
	Keyed bool
}

// Flushed lets Redis keep less of a record that is durable outside it. It changes nothing where Redis has no such record, or
// another outcome of that request. See Reserve for errors.
func (s *Store) Flushed(ctx context.Context, lane Lane, req FlushedRequest) error {
	r, err := s.run(ctx, flushedScript, lane, KeysOf(lane.Key).record(req.ID),
		req.Ticket, req.Fence, bit(req.Same), bit(req.Keyed), FlushedResponse, ms(FlushedLife), string(req.Held))
	if err != nil {
		return err
	}
	return r.err
}
