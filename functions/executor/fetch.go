package executor

import (
	"context"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// prefetched is the body of the head that will probably be driven next, fetched while a target works, so that a hand-off costs
// Redis time and not the queue's.
type prefetched struct {
	head slot.Head
	done chan struct{}
	env  taskqueue.Envelope
	err  error
}

// prefetch begins to fetch the next head, unless its own task will be there in time.
func (d *delivery) prefetch(ctx context.Context, v lane.View) {
	if v.Next.Ticket == 0 || v.Next.Here || lane.InTime(d.lane, v.Seen) {
		return
	}
	p := &prefetched{head: v.Next, done: make(chan struct{})}
	d.drivers.Lock()
	d.ahead = p
	d.drivers.Unlock()
	d.beside.Add(1)
	d.Clock.Go(func() {
		defer d.beside.Done()
		defer close(p.done)
		p.env, p.err = lane.Fetch(ctx, d.Queue, d.env.Key, v.Seen)
	})
}

// fetch gets the head's body, from the prefetch where it was the right guess.
func (d *delivery) fetch(ctx context.Context, v lane.View) (taskqueue.Envelope, error) {
	d.drivers.Lock()
	p := d.ahead
	d.ahead = nil
	d.drivers.Unlock()
	if p != nil && p.head.Ticket == v.Next.Ticket && p.head.K == v.Next.K && p.head.Request == v.Next.Request {
		<-p.done
		if p.err == nil {
			return p.env, nil
		}
	}
	return lane.Fetch(ctx, d.Queue, d.env.Key, v.Seen)
}
