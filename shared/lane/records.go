package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// RecordStore keeps records outside Redis: record.Firestore or record.Memory.
type RecordStore interface {
	Put(ctx context.Context, r record.Record) (held record.Record, err error)
	Get(ctx context.Context, key, id string) (r record.Record, found bool, err error)
	Delete(ctx context.Context, key, id string, ticket int64) error
	List(ctx context.Context, key string, status record.Status, size int, token string) (record.Page, error)
	DeadLetters(ctx context.Context, key string, size int, token string) (record.Page, error)
}

// Flusher is the script that frees Redis of what is durable.
type Flusher interface {
	Flushed(ctx context.Context, l slot.Lane, req slot.FlushedRequest) error
}

// Records makes the records of durable lanes outlive Redis, and finds them. It is safe for concurrent use.
type Records struct {
	// Store is nil where the deployment has none: then no lane is durable.
	Store RecordStore
	Slots Flusher
	// Dead keeps the dead letters of lanes that are not durable; they are lost with Redis.
	Dead  slot.DeadLetters
	Queue Queue
	Clock clock.Clock
}

// flushAfter is how long a flush task waits: the store has just failed.
const flushAfter = 5 * time.Second

// Persist makes r, how the request of e ended, outlive Redis, where the lane is durable: in the store or, where that fails, in
// a flush task. Of another lane it keeps dead letters, in Redis. It returns how the request ended for good: r, or what the store had
// of it before, which others have been told. The error says that r is in Redis alone.
func (s Records) Persist(ctx context.Context, l Lane, e taskqueue.Envelope, r slot.Record) (slot.Record, error) {
	switch {
	case r.Durable:
		return r, nil
	case !l.Policy.Durable && r.Status == slot.Dead:
		return r, s.Dead.Keep(ctx, l.Slot, slot.DeadLetter{ID: r.ID, Ticket: r.Ticket, Finished: r.Finished}, durable(l, e, r).Encode())
	case !l.Policy.Durable:
		return r, nil
	}
	whole := durable(l, e, r)
	held, err := s.put(ctx, l, whole, e.IdempotencyKey != "")
	switch {
	case err == nil && !same(held, whole):
		return known(held), nil
	case errors.Is(err, record.ErrInvalid):
		// No later try can do better: the record stays in Redis for its retention.
		logging.FromContext(ctx).ErrorContext(ctx, "record cannot be made durable", logging.Request, r.ID, logging.Error, err.Error())
	case err != nil:
		logging.FromContext(ctx).WarnContext(ctx, "record not written through: a flush task takes it", logging.Request, r.ID, logging.Error, err.Error())
		if later := s.later(ctx, l, e, whole); later != nil {
			return r, errors.Join(err, later)
		}
	}
	return r, nil
}

// Flush does what a flush task carries. The error is record.ErrEncoding or record.ErrInvalid where no later try can do better,
// else the store's.
func (s Records) Flush(ctx context.Context, l Lane, e taskqueue.Envelope) error {
	r, err := record.Decode(e.Body)
	if err != nil {
		return fmt.Errorf("flush request %s: %w", e.ID, err)
	}
	if _, err := s.put(ctx, l, r, e.IdempotencyKey != ""); err != nil {
		return fmt.Errorf("flush request %s: %w", e.ID, err)
	}
	return nil
}

// Lookup returns the durable record of a request; found is false where there is none.
func (s Records) Lookup(ctx context.Context, key, requestID string) (r slot.Record, found bool, err error) {
	if s.Store == nil {
		return slot.Record{}, false, nil
	}
	stored, found, err := s.Store.Get(ctx, key, requestID)
	if err != nil || !found {
		return slot.Record{}, false, err
	}
	return known(stored), true, nil
}

// Ends says that held, the durable record of a request, is how that of ticket ends. One of a lower ticket is the end of an earlier
// life: of a request that was redriven, or cancelled and sent again. But what is done stays done, also under a place that was given
// up since.
func Ends(held slot.Record, ticket int64) bool {
	return held.Ticket >= ticket || held.Status == slot.Done
}

// Ended returns durable records of a lane behind a ticket, at most size, in ticket order; only those of status, unless it is
// empty. They are without responses and payloads. upto is the ticket behind which the list goes on, 0 where it does not. A lane that is not durable has none.
func (s Records) Ended(ctx context.Context, l Lane, status record.Status, size int, after int64) (ended []record.Record, upto int64, err error) {
	if s.Store == nil || !l.Policy.Durable {
		return nil, 0, nil
	}
	for token := record.After(after); token != "" && len(ended) == 0; {
		page, err := s.Store.List(ctx, l.Slot.Key, status, size, token)
		if err != nil {
			return nil, 0, err
		}
		ended, token = page.Records, page.Next
		if token != "" && len(ended) > 0 {
			upto = ended[len(ended)-1].Ticket
		}
	}
	return ended, upto, nil
}

// decide creates the durable record of how the request of e would end, unless there is one, and returns what the store holds.
func (s Records) decide(ctx context.Context, l Lane, e taskqueue.Envelope, r slot.Record) (slot.Record, error) {
	held, err := s.Store.Put(ctx, durable(l, e, r))
	if err != nil {
		return slot.Record{}, err
	}
	return known(held), nil
}

// Free lets Redis keep less of a request that ended as the store had decided: what Redis has is what is durable.
func (s Records) Free(ctx context.Context, l Lane, e taskqueue.Envelope, g slot.Grant) {
	s.flushed(ctx, l, slot.FlushedRequest{ID: e.ID, Ticket: g.Ticket, Fence: g.Fence, Same: true, Keyed: e.IdempotencyKey != ""})
}

// flushed may fail: then Redis keeps the record longer.
func (s Records) flushed(ctx context.Context, l Lane, req slot.FlushedRequest) {
	if err := s.Slots.Flushed(ctx, l.Slot, req); err != nil {
		logging.FromContext(ctx).WarnContext(ctx, "durable record not freed in Redis", logging.Request, req.ID, logging.Error, err.Error())
	}
}

// put writes r and then lets Redis keep less of it.
func (s Records) put(ctx context.Context, l Lane, r record.Record, keyed bool) (record.Record, error) {
	held, err := s.Store.Put(ctx, r)
	if err != nil {
		return record.Record{}, err
	}
	req := slot.FlushedRequest{ID: r.ID, Ticket: r.Ticket, Fence: r.Fence, Same: same(held, r), Keyed: keyed}
	if held.Ticket <= r.Ticket {
		req.Held = slot.Status(held.Status)
	}
	s.flushed(ctx, l, req)
	return held, nil
}

// same says that what the store holds is r: a run that was decided may have been purged before it finished, of the same ticket and
// fence.
func same(held, r record.Record) bool {
	return held.Ticket == r.Ticket && held.Fence == r.Fence && held.Status == r.Status
}

// later leaves r to a flush task. Where a task cannot hold all of it the response is cut: what was submitted can be run again
// only whole.
func (s Records) later(ctx context.Context, l Lane, e taskqueue.Envelope, r record.Record) error {
	body := r.Encode()
	if over := len(body) - maxFlush; over > 0 {
		response, _, err := DecodeResponse(r.Response)
		if err != nil {
			return err
		}
		response.Truncated = true
		response.Body = response.Body[:max(0, len(response.Body)-over-len(`"truncated":true,`))]
		if r.Response, err = response.encode(); err != nil {
			return err
		}
		body = r.Encode()
	}
	_, err := s.Queue.Create(ctx, taskqueue.Task{
		ID: taskqueue.FlushTaskID(r.Key, e.Incarnation, r.Ticket, r.ID), At: s.Clock.Now().Add(flushAfter), DispatchDeadline: l.DispatchDeadline(),
		Envelope: taskqueue.Envelope{
			Kind: taskqueue.KindFlush, Key: r.Key, Incarnation: e.Incarnation, Ticket: r.Ticket, ID: r.ID,
			IdempotencyKey: e.IdempotencyKey, Submitted: e.Submitted, Body: body,
		},
	})
	return err
}

// maxFlush is the longest record that fits a task beside its envelope: base64 takes a third more.
const maxFlush = (taskqueue.MaxSealed - 16<<10) / 4 * 3

// durable is the record, outside Redis, of how the request of e ended. Without an envelope it has no payload, and cannot be redriven.
func durable(l Lane, e taskqueue.Envelope, r slot.Record) record.Record {
	out := record.Record{
		Key: l.Slot.Key, ID: r.ID, Fingerprint: r.Fingerprint, Ticket: r.Ticket, Fence: r.Fence, Status: record.Status(r.Status),
		Attempts: r.Attempts, Reason: r.Reason, Detail: r.Detail, Target: r.Target, Submitted: r.Submitted, Started: r.Started,
		Finished: r.Finished, Response: r.Response, ExpireAt: r.Finished.Add(l.Slot.Retention),
	}
	if r.Status == slot.Dead && e.ID != "" {
		out.Payload = &record.Payload{Header: e.Header, IdempotencyKey: e.IdempotencyKey, Traceparent: e.Traceparent, Body: e.Body}
	}
	return out
}

// known is a durable record as the scripts would tell it.
func known(r record.Record) slot.Record {
	return slot.Record{
		ID: r.ID, Status: slot.Status(r.Status), Fingerprint: r.Fingerprint, Ticket: r.Ticket, Fence: r.Fence, Attempts: r.Attempts,
		Response: r.Response, Reason: r.Reason, Detail: r.Detail, Target: r.Target, Submitted: r.Submitted, Started: r.Started,
		Finished: r.Finished, Durable: true,
	}
}
