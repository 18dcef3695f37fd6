package executor

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

var errStore = errors.New("the record store is down")

// wantStored fails unless the record store knows how the request ended.
func (b *fixture) wantStored(id string, status record.Status) record.Record {
	b.t.Helper()
	r, found, err := b.records.Memory.Get(b.t.Context(), testKey, id)
	if err != nil || !found || r.Status != status {
		b.t.Fatalf("durable record of %s: %+v, found %t, %v; want %s", id, r, found, err, status)
	}
	return r
}

func (b *fixture) wantInRedisAlone(id string) {
	b.t.Helper()
	if _, found, _ := b.records.Memory.Get(b.t.Context(), testKey, id); found {
		b.t.Fatalf("%s is in the record store", id)
	}
}

func TestNo200BeforeTheRecordIsDurable(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		a, other := b.submit("a"), b.submit("b")
		if got := b.Deliver(t.Context(), a); got != http.StatusOK {
			t.Fatalf("run: %d", got)
		}
		// The own record and that of the driven request, which then only points there.
		for _, id := range []string{"a", "b"} {
			b.wantStored(id, record.Done)
			if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, id); err != nil || !r.Durable {
				t.Errorf("%s in Redis: durable %t, %v", id, r.Durable, err)
			}
		}
		b.records.err = errStore // needed no more
		if got := b.Deliver(t.Context(), other); got != http.StatusOK || len(b.calls) != 2 {
			t.Errorf("the driven request's own task: %d after %d runs, want 200 after 2", got, len(b.calls))
		}
	})
}

func TestARecordThatTheStoreDoesNotTake(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: 422, Body: []byte("no")}, nil
		}
		e := b.submit("a")
		e.IdempotencyKey, e.Traceparent, e.Header = "order-17", "00-1-2-01", http.Header{"Content-Type": {"text/plain"}}
		// Neither the store nor the queue: the task stays, and the request runs no second time.
		b.records.err, b.queue.createErr = errStore, errors.New("the queue is down")
		for range 2 {
			if got := b.Deliver(t.Context(), e); got != http.StatusConflict || len(b.calls) != 1 {
				t.Fatalf("store and queue down: %d after %d runs, want 409 after 1", got, len(b.calls))
			}
		}
		// The queue alone: a flush task carries the record.
		b.queue.createErr = nil
		for range 2 {
			if got := b.Deliver(t.Context(), e); got != http.StatusOK {
				t.Fatalf("store down: %d, want 200", got)
			}
		}
		flushes := b.queue.of(taskqueue.KindFlush)
		if len(flushes) != 1 {
			t.Fatalf("%d flush tasks, want 1", len(flushes))
		}
		if got := b.Deliver(t.Context(), flushes[0].Envelope); got != http.StatusConflict {
			t.Errorf("flush while the store is down: %d, want 409", got)
		}
		b.wantInRedisAlone("a")
		b.records.err = nil
		for range 2 {
			if got := b.Deliver(t.Context(), flushes[0].Envelope); got != http.StatusOK {
				t.Errorf("flush: %d, want 200", got)
			}
		}
		r := b.wantStored("a", record.Dead)
		if r.Payload == nil || string(r.Payload.Body) != "body of a" || r.Payload.IdempotencyKey != "order-17" ||
			r.Payload.Traceparent != "00-1-2-01" || r.Payload.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("payload %+v, want all that it takes to run it again", r.Payload)
		}
		if _, r, err := b.slots.Inspect(t.Context(), b.lane.Slot, "a"); err != nil || !r.Durable {
			t.Errorf("in Redis: durable %t, %v", r.Durable, err)
		}
	})
}

func TestTheLargestRecordFitsAFlushTask(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: 422, Body: make([]byte, 256<<10)}, nil
		}
		e := b.submit("a")
		e.Body = make([]byte, record.MaxBody)
		b.records.err = errStore
		if got := b.Deliver(t.Context(), e); got != http.StatusOK {
			t.Fatalf("%d, want 200", got)
		}
		flush := b.queue.of(taskqueue.KindFlush)[0].Envelope
		if _, _, err := b.keys.Seal(flush); err != nil {
			t.Fatal(err)
		}
		b.records.err = nil
		if got := b.Deliver(t.Context(), flush); got != http.StatusOK {
			t.Fatalf("flush: %d, want 200", got)
		}
		if r := b.wantStored("a", record.Dead); len(r.Payload.Body) != record.MaxBody || len(r.Response) == 0 {
			t.Errorf("payload of %d bytes, response of %d, want the payload whole", len(r.Payload.Body), len(r.Response))
		}
	})
}

func TestAFlushThatNothingCanMend(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		for name, body := range map[string][]byte{"no record": []byte("x"), "one out of bounds": (record.Record{}).Encode()} {
			e := taskqueue.Envelope{Kind: taskqueue.KindFlush, Key: testKey, ID: "a", Body: body}
			if got := b.Deliver(t.Context(), e); got != http.StatusOK {
				t.Errorf("%s: %d, want 200: it would come for ever", name, got)
			}
		}
	})
}

func TestALaneThatIsNotDurableWritesNothing(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s, durable: false", func(t *testing.T, b *fixture) {
		b.records.err = errStore
		e := b.submit("a")
		for range 2 {
			if got := b.Deliver(t.Context(), e); got != http.StatusOK {
				t.Errorf("%d, want 200", got)
			}
		}
		b.wantInRedisAlone("a")
	})
}

func TestACancelledRequestIsDurableOnceItsTaskHasCome(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		e := b.submit("a")
		if _, err := b.slots.Cancel(t.Context(), b.lane.Slot, "a"); err != nil {
			t.Fatal(err)
		}
		if got := b.Deliver(t.Context(), e); got != http.StatusOK || len(b.calls) != 0 {
			t.Errorf("%d after %d runs, want 200 after none", got, len(b.calls))
		}
		b.wantStored("a", record.Cancelled)
	})
}
