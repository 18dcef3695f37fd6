package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatim/seriatim/shared/record"
)

// records are the durable records as an instance reaches them: over a network that loses and delays, of a database that is away
// now and then.
type records struct{ in *instance }

var errAway = fmt.Errorf("simulated: %w", record.ErrUnavailable)

// storeTimeout is record.Firestore's for one call.
const storeTimeout = 3 * time.Second

// stored is one call of the record store. A write whose caller has given up may land later.
func stored[T any](ctx context.Context, in *instance, op, about string, exec func() (T, error)) (answer T, err error) {
	var none T
	w, f := in.world, in.world.faults()
	about = op + " " + about + " " + in.name
	w.count(op)
	w.steps.Add(1)
	r := w.dice.roll("store latency", about)
	if err := pass(ctx, r.span(3*time.Millisecond, 20*time.Millisecond)); err != nil {
		return none, err
	}
	in.trouble(about)
	var wait time.Duration
	switch {
	case w.storeAway():
		err, wait = errAway, r.span(time.Millisecond, storeTimeout)
	case w.strike("store fails", about, f.StoreFails):
		err, wait = errAway, r.span(0, 100*time.Millisecond)
	case w.strike("store late", about, f.StoreLate):
		time.AfterFunc(r.span(storeTimeout, 20*time.Second), func() { _, _ = exec() })
		err, wait = errAway, storeTimeout
	default:
		if w.strike("store slow", about, f.StoreSlow) {
			if err := pass(ctx, r.span(100*time.Millisecond, storeTimeout-time.Second)); err != nil {
				return none, err
			}
			in.alive(about)
		}
		answer, err = exec()
		in.trouble("after " + about)
		wait = r.span(3*time.Millisecond, 20*time.Millisecond)
		if w.strike("store reply lost", about, f.StoreReplyLost) {
			answer, err, wait = none, errAway, storeTimeout-time.Second
		}
	}
	if perr := pass(ctx, wait+r.span(0, time.Millisecond)); perr != nil {
		return none, perr
	}
	in.alive(about)
	return answer, err
}

// storeAway says that the database is not to be reached now.
func (w *World) storeAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.away)
}

// outages take the record store away for minutes, now and then, while clients come.
func (w *World) outages() {
	for n := int64(0); w.Faults.StoreAway > 0; n++ {
		r := w.dice.roll("outage", number(n))
		time.Sleep(r.span(time.Second, 20*time.Minute))
		w.mu.Lock()
		over := w.over
		w.mu.Unlock()
		if over {
			return
		}
		if w.strike("store away", number(n), w.faults().StoreAway) {
			w.mu.Lock()
			w.away = time.Now().Add(r.span(10*time.Second, 6*time.Minute))
			w.mu.Unlock()
		}
	}
}

// Put is record.Firestore's.
func (s *records) Put(ctx context.Context, r record.Record) (record.Record, error) {
	held, err := stored(ctx, s.in, "put", r.ID, func() (record.Record, error) {
		held, err := s.in.world.records.Put(ctx0, r)
		s.in.world.note(r.Key, "%s puts %s: t%s fence %s %s; the store has t%s fence %s %s", s.in.name, label(r.ID), short(r.Ticket), short(r.Fence), r.Status,
			short(held.Ticket), short(held.Fence), held.Status)
		return held, err
	})
	return held, err
}

// Delete is record.Firestore's.
func (s *records) Delete(ctx context.Context, key, id string, ticket int64) error {
	_, err := stored(ctx, s.in, "delete", id, func() (struct{}, error) {
		s.in.world.oracle.removed(key, id)
		return struct{}{}, s.in.world.records.Delete(ctx0, key, id, ticket)
	})
	return err
}

// List is record.Firestore's.
func (s *records) List(ctx context.Context, key string, status record.Status, size int, token string) (record.Page, error) {
	page, err := stored(ctx, s.in, "list records", key, func() (record.Page, error) {
		return s.in.world.records.List(ctx0, key, status, size, token)
	})
	return page, err
}

// DeadLetters is record.Firestore's.
func (s *records) DeadLetters(ctx context.Context, key string, size int, token string) (record.Page, error) {
	page, err := stored(ctx, s.in, "list dead letters", key, func() (record.Page, error) {
		return s.in.world.records.DeadLetters(ctx0, key, size, token)
	})
	return page, err
}

// got packs the answer of Get.
type got struct {
	record.Record
	found bool
}

// Get is record.Firestore's.
func (s *records) Get(ctx context.Context, key, id string) (record.Record, bool, error) {
	if s.in.world.has(LookupSkipped) && s.in.kind == "executor" {
		return record.Record{}, false, nil
	}
	one, err := stored(ctx, s.in, "get", id, func() (one got, err error) {
		one.Record, one.found, err = s.in.world.records.Get(ctx0, key, id)
		return one, err
	})
	return one.Record, one.found, err
}
