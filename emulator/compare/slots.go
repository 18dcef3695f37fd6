package compare

import "time"

// articleSlots is the pseudo-code of the article, line by line; its minute is the interval of the load.
//
// What is wrong with it:
//   - Get, then set: two that read before either writes start at once, and a request that starts writes an old count back.
//   - The count is raised after the task is made: those that come together read one count, get one slot and leave a hole behind it.
//     A crash between the two leaks it; a duplicate delivery lowers it twice.
//   - The scheduled path moves next_slot only after processing: what comes meanwhile starts too, and a handler longer than the
//     interval overlaps the next.
//   - next_slot is set from the time before processing, and may move backwards.
//   - now + 1 minute drifts away from the slots that were given out: later tasks come early, are made anew for one common
//     instant, and start in random order.
//   - An arrival at an instant when a queued task is due overtakes it, after a stall the whole backlog.
//   - A slot beyond 30 days is refused by Cloud Tasks; no key of Redis ever expires. (These loads do not come to that.)
func articleSlots(s *site) arrival {
	minute := int64(s.load.interval())
	var processScheduledTask func(p *process, i int)
	scheduleCloudTask := func(p *process, i int, slot int64) {
		s.queue.create(p, time.Duration(slot), func(p *process) { processScheduledTask(p, i) })
	}
	processScheduledTask = func(p *process, i int) {
		now, key := int64(s.now), s.key(i)
		nextSlot := s.redis.get(p, key+":next_slot", 0)
		queueCount := s.redis.get(p, key+":queue_count", 0)
		if now < nextSlot {
			scheduleCloudTask(p, i, nextSlot)
			return
		}
		s.process(p, i)
		s.redis.set(p, key+":next_slot", now+minute)
		if queueCount > 0 {
			s.redis.add(p, key+":queue_count", -1)
		}
	}
	return func(p *process, i int) {
		now, key := int64(s.now), s.key(i)
		nextSlot := s.redis.get(p, key+":next_slot", now)
		queueCount := s.redis.get(p, key+":queue_count", 0)
		if now < nextSlot {
			scheduleCloudTask(p, i, nextSlot+queueCount*minute)
			s.redis.add(p, key+":queue_count", 1)
			return
		}
		s.redis.set(p, key+":next_slot", now+minute)
		s.redis.set(p, key+":queue_count", queueCount)
		s.process(p, i)
	}
}

// atomicSlots is the article's idea with each decision in one script, and next_slot moved before processing.
//
// What is wrong with it:
//   - now + 1 minute still drifts: tasks come early and are made anew for one common instant, from which on they come as a herd,
//     in random order.
//   - A late task is overtaken, and so is the backlog by an arrival that finds the slot free.
//   - next_slot knows nothing of the run's end: a handler longer than the interval overlaps the next. Order alone it cannot keep.
func atomicSlots(s *site) arrival {
	minute := int64(s.load.interval())
	// take moves next_slot if it is time, and says until when to wait if not.
	take := func(key string) (nextSlot int64, taken bool) {
		now := int64(s.now)
		nextSlot = s.redis.read(key+":next_slot", now)
		if now < nextSlot {
			return nextSlot, false
		}
		s.redis.values[key+":next_slot"] = now + minute
		return 0, true
	}
	var scheduled func(p *process, i int)
	scheduled = func(p *process, i int) {
		var slot int64
		var run bool
		s.redis.do(p, func() {
			if slot, run = take(s.key(i)); run {
				s.redis.values[s.key(i)+":queue_count"]--
			}
		})
		if run {
			s.process(p, i)
			return
		}
		s.queue.create(p, time.Duration(slot), func(p *process) { scheduled(p, i) })
	}
	return func(p *process, i int) {
		var slot int64
		var run bool
		s.redis.do(p, func() {
			if slot, run = take(s.key(i)); !run {
				slot += s.redis.values[s.key(i)+":queue_count"] * minute
				s.redis.values[s.key(i)+":queue_count"]++
			}
		})
		if run {
			s.process(p, i)
			return
		}
		s.queue.create(p, time.Duration(slot), func(p *process) { scheduled(p, i) })
	}
}
