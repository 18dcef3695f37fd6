package slot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Verdicts about tickets whose task may not exist.
const (
	// Voided: the place was given up. From Confirm it is called Void.
	Voided Verdict = "VOIDED"
	// Void: Confirm came too late; reserve anew.
	Void Verdict = "VOID"
	// Kept: the ticket is not one to give up.
	Kept Verdict = "KEPT"
	// Again: look once more, at Looked.At.
	Again Verdict = "AGAIN"
	// Check: the task is missing; read the durable records, then Settle.
	Check Verdict = "CHECK"
)

// Confirm says that the ticket's task is durable. It answers false when the place has been given up: reserve anew. After true
// nobody voids the ticket. See Reserve for errors.
func (s *Store) Confirm(ctx context.Context, lane Lane, requestID string, ticket, incarnation int64) (bool, error) {
	r, err := s.run(ctx, confirmScript, lane, []string{KeysOf(lane.Key).Record(requestID)}, requestID, ticket, incarnation)
	if err != nil {
		return false, err
	}
	return r.verdict == OK, r.err
}

// Void gives up the place of an unconfirmed ticket: at once when its CreateTask failed for certain, else past its deadline.
// Who looked for its task first calls VoidHead. The verdict is Voided or Kept. See Reserve for errors.
func (s *Store) Void(ctx context.Context, lane Lane, requestID string, ticket int64, atOnce bool) (Looked, error) {
	return s.void(ctx, lane, requestID, ticket, atOnce, 0, 0)
}

// GiveUp gives up the place of a ticket that its caller has just reserved, at once, with the lease that it got in the same call
// and has not used: fence is that of the grant, 0 without one. The verdict is Voided or Kept. See Reserve for errors.
func (s *Store) GiveUp(ctx context.Context, lane Lane, requestID string, ticket, fence int64) (Looked, error) {
	return s.void(ctx, lane, requestID, ticket, true, 0, fence)
}

// VoidHead gives up the place of the unconfirmed head, whose task the queue denied when asked after h.Seen, if h.Seen is past
// the deadline that stands now. The verdict is Voided or Kept. See Reserve for errors.
func (s *Store) VoidHead(ctx context.Context, lane Lane, h Head) (Looked, error) {
	return s.void(ctx, lane, h.Request, h.Ticket, false, h.Seen, 0)
}

func (s *Store) void(ctx context.Context, lane Lane, requestID string, ticket int64, atOnce bool, seen, fence int64) (Looked, error) {
	r, err := s.run(ctx, voidScript, lane, []string{KeysOf(lane.Key).Record(requestID)}, ticket, requestID, bit(atOnce), seen, fence)
	return looked(r, err)
}

// Looked is the answer of Void, Missing and Settle.
type Looked struct {
	Seen
	Verdict Verdict
	// At is set for Again, in Redis milliseconds.
	At int64
}

func looked(r reply, err error) (Looked, error) {
	if err != nil {
		return Looked{}, err
	}
	return Looked{Seen: r.seen(), Verdict: r.verdict, At: r.int("at")}, r.err
}

// Missing reports that the queue denied the task of the confirmed head, when asked after h.Seen. The verdict is Again, Check
// or Kept. See Reserve for errors.
func (s *Store) Missing(ctx context.Context, lane Lane, h Head) (Looked, error) {
	return s.settle(ctx, lane, h, "")
}

// Settle ends what Missing began: with Done or Dead as the durable record has it, to which Redis then points, or with the empty
// status, which voids the ticket. The verdict is Voided, AlreadyDone, Again or Kept. See Reserve for errors.
func (s *Store) Settle(ctx context.Context, lane Lane, h Head, status Status) (Looked, error) {
	word := "void"
	if status != "" {
		word = string(status)
	}
	return s.settle(ctx, lane, h, word)
}

func (s *Store) settle(ctx context.Context, lane Lane, h Head, word string) (Looked, error) {
	r, err := s.run(ctx, missingScript, lane, []string{KeysOf(lane.Key).Record(h.Request)},
		h.Ticket, h.Request, h.K, word, ms(MissingAfter), h.Seen)
	return looked(r, err)
}

// MissingLimit is how many heads a minute may be found missing, over all lanes, before voiding stops: more than that is not
// chance but a fault of the queue, and an operator's to judge.
const MissingLimit = 20

// CountMissing counts one missing head and says whether voiding may go on: false past MissingLimit in the minute of now. It
// needs a client beside the scripts, since the counter is no key of a lane.
func CountMissing(ctx context.Context, rdb redis.Cmdable, now time.Time) (bool, error) {
	key := missingKey(now.UTC().Format("200601021504"))
	var count *redis.IntCmd
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		count = p.Incr(ctx, key)
		p.PExpire(ctx, key, 2*time.Minute)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("count missing head: %w", err)
	}
	return count.Val() <= MissingLimit, nil
}

// MissingCount reads how many heads were found missing in the minute of now.
func MissingCount(ctx context.Context, rdb redis.Cmdable, now time.Time) (int64, error) {
	n, err := rdb.Get(ctx, missingKey(now.UTC().Format("200601021504"))).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read missing heads: %w", err)
	}
	return n, nil
}
