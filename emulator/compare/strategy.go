package compare

import (
	"testing"
	"time"
)

// strategy is a way to keep the requests of one key in order and at pace.
type strategy struct {
	// Name is what people read, Short a word or two for a picture.
	Name, Short string

	run func(t *testing.T, load *workload, seed uint64) (*log, costs, error)
}

// strategies are all that are compared; the product is the last.
func strategies() []strategy {
	return []strategy{
		{"one queue per key", "Queue per key", baseline(queuePerKey)},
		{"lock and reschedule", "Lock, reschedule", baseline(lockAndReschedule)},
		{"slots, as in the article", "Article's slots", baseline(articleSlots)},
		{"the same, made atomic", "Atomic slots", baseline(atomicSlots)},
		{"Seriatim", "Seriatim", seriatim},
	}
}

// site is what a baseline is built on. Its queue is one for all keys.
type site struct {
	*world
	load  *workload
	redis *redis
	queue *queue
}

// arrival does what ingest does with request i; its client has the answer when it returns.
type arrival func(p *process, i int)

func baseline(build func(*site) arrival) func(*testing.T, *workload, uint64) (*log, costs, error) {
	return func(_ *testing.T, load *workload, seed uint64) (*log, costs, error) {
		w := newWorld(seed, len(load.submissions))
		incoming := build(&site{world: w, load: load, redis: w.newRedis(), queue: w.newQueue(load.Late)})
		for i, s := range load.submissions {
			w.at(s.At, func(p *process) {
				p.pass(ms, 10*ms)
				incoming(p, i)
				p.pass(ms, 10*ms)
				w.log.answer(i, w.now)
			})
		}
		w.run()
		return w.log, w.costs, nil
	}
}

func (s *site) key(i int) string { return s.load.submissions[i].Lane }

// process calls the target.
func (s *site) process(p *process, i int) {
	s.log.start(i, s.now)
	p.sleep(s.load.submissions[i].Takes + p.span(ms, 3*ms))
	s.log.end(i, s.now)
}

// queuePerKey has Cloud Tasks do it all: each key has a queue of its own, of one dispatch at a time and the pace for its rate.
//
// What is wrong with it:
//   - Cloud Tasks promises no order: jitter swaps what comes together, and a late task is overtaken by all behind it.
//   - 1,000 queues are all that a region allows, a queue must be made before the first request of its key and deleted after the
//     last, and the name of a deleted one is blocked for days.
//   - Every request waits for a dispatch, be its key idle or not.
//   - Nothing tells apart two deliveries of one task: Cloud Tasks may deliver twice.
func queuePerKey(s *site) arrival {
	queues := map[string]*queue{}
	return func(p *process, i int) {
		q := queues[s.key(i)]
		if q == nil {
			q = s.newQueue(s.load.Late)
			q.burst, q.concurrent, q.interval = 1, 1, max(s.load.Spacing, q.interval)
			queues[s.key(i)] = q
			s.costs.Operations++
		}
		q.create(p, 0, func(p *process) { s.process(p, i) })
	}
}

// lockLife is how long a lock outlives its owner.
const lockLife = time.Minute

// lockAndReschedule takes a lock, and comes again an interval later where somebody has it. To keep the pace, the lock is kept
// until the next start is allowed: more than the article's does.
//
// What is wrong with it:
//   - All who wait come again together, one wins: n requests take n²/2 dispatches, until the queue has no dispatch left for other
//     keys.
//   - Who wins is a matter of luck: there is no order.
//   - The lane stands from the end of a run to the next try.
func lockAndReschedule(s *site) arrival {
	var try func(p *process, i int)
	try = func(p *process, i int) {
		if !s.redis.lock(p, s.key(i), max(lockLife, s.load.Spacing)) {
			s.queue.create(p, s.now+s.load.interval(), func(p *process) { try(p, i) })
			return
		}
		began := s.now
		s.process(p, i)
		s.redis.keep(p, s.key(i), began+s.load.Spacing)
	}
	return try
}
