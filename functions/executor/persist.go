package executor

import (
	"context"
	"errors"
	"net/http"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// besides runs f beside what the delivery does next; the function that it returns waits for the answer.
func (d *delivery) besides(f func() int) func() int {
	answer := make(chan int, 1)
	d.beside.Add(1)
	d.Clock.Go(func() {
		defer d.beside.Done()
		status := http.StatusConflict // where f does not return
		defer func() { answer <- status }()
		status = f()
	})
	return func() int { return <-answer }
}

// persistent writes the end of an attempt through, beside the hand-off to the next head. A ticket that was driven has a task of
// its own, which is not answered 200 before the record is durable.
func (d *delivery) persistent(ctx context.Context, env taskqueue.Envelope, g slot.Grant, ended lane.Ended) func() int {
	if ended.Decided {
		return d.besides(func() int {
			d.Records.Free(context.WithoutCancel(ctx), d.lane, env, g)
			return http.StatusOK
		})
	}
	if ended.Verdict != slot.OK || !d.outlives(ended.Record.Status) {
		return func() int { return http.StatusOK }
	}
	return d.besides(func() int { return d.persist(ctx, env, ended.Record) })
}

// outlives says whether more is kept of a request that ended like this than its record in Redis.
func (d *delivery) outlives(status slot.Status) bool {
	return status == slot.Dead || d.lane.Policy.Durable && status != ""
}

// persistentEnd writes the record through of an own request that START found terminal.
func (d *delivery) persistentEnd(ctx context.Context, v slot.Started) func() int {
	if v.Durable || !d.outlives(v.Status) {
		return func() int { return http.StatusOK }
	}
	return d.besides(func() int { return d.persistEnded(ctx) })
}

// persistEnded leaves out the record of another request of the same id: that one has a task of its own.
func (d *delivery) persistEnded(ctx context.Context) int {
	_, r, err := d.Inspector.Inspect(context.WithoutCancel(ctx), d.lane.Slot, d.env.ID)
	switch {
	case err != nil:
		return d.unreachable(ctx, "inspect", err)
	case !r.Known || r.Status == slot.Open || r.Fingerprint != d.env.Fingerprint:
		return http.StatusOK
	}
	return d.persist(ctx, d.env, r.Record)
}

// persist answers whether r is durable, or a task that makes it so.
func (d *delivery) persist(ctx context.Context, env taskqueue.Envelope, r slot.Record) int {
	if _, err := d.Records.Persist(context.WithoutCancel(ctx), d.lane, env, r); err != nil {
		logging.FromContext(ctx).ErrorContext(ctx, "record in Redis alone: its task stays", logging.Request, r.ID, logging.Error, err.Error())
		return http.StatusConflict
	}
	return http.StatusOK
}

// flush handles a task that carries a record.
func (d *delivery) flush(ctx context.Context) int {
	err := d.Records.Flush(ctx, d.lane, d.env)
	log := logging.FromContext(ctx)
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, record.ErrEncoding), errors.Is(err, record.ErrInvalid):
		log.ErrorContext(ctx, "record dropped: it cannot be made durable", logging.Request, d.env.ID, logging.Error, err.Error())
		return http.StatusOK
	}
	log.WarnContext(ctx, "record not flushed yet", logging.Request, d.env.ID, logging.Error, err.Error())
	return http.StatusConflict
}
