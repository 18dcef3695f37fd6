package simulation

import (
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// life is one life of a request, from its first place in the lane to its end. A request that was cancelled and is sent again, or
// was dead and is redriven, begins another one under the same id.
type life struct {
	arrived time.Time // at ingest, of the call that began it or an earlier one
	acked   time.Time
	started bool
	ticket  int64 // of the acknowledgement
	status  slot.Outcome
	ended   time.Time
	fence   int64 // of the grant that ended it
	body    string
	// answered says that body has been told, that of an end at told.
	answered bool
	told     time.Time
	tasks    int
	hadTask  bool
	due      time.Time // when its last task was to come
	placed   time.Time // when it got its place, the last one
	touched  time.Time // when a script last changed something about it
	// shaken says that it was about in milliseconds that a replica lacked.
	shaken bool
	// resent says that its client sent it again after a loss, before its task came.
	resent bool
	// byStore says that it ended by the word of the record store, and Redis had not heard of it.
	byStore bool
	// decree is the fence of the record by which it did.
	decree int64
	// begun is the ticket that it got first, place the one that it got last.
	begun, place int64
	// purged is when it was, outlives says that its cancellation does outlive Redis: somebody was told so.
	purged   time.Time
	outlives bool
	// cancelled is the place that it had when it was, returned says that it came back nevertheless.
	cancelled int64
	returned  bool
	// resolved says that an operator ended it.
	resolved bool
	// evicted says that its place was given up after a loss.
	evicted bool
}

// lifeOf is the life to which a ticket belongs. A ticket that is in no book is taken for the request's present one.
func (o *oracle) lifeOf(r *requestBook, ticket int64) *life {
	if l := o.lane(r.lane).lives[ticket]; l != nil {
		return l
	}
	return r.life
}

// begins books a new ticket of a request: it may begin another life.
func (o *oracle) begins(b *laneBook, r *requestBook, req slot.ReserveRequest, ticket int64) {
	o.decided(r, r.life)
	switch {
	case r.status == "": // its first life, or its place was given up
	case r.status == slot.GiveUp && req.Redrive:
		o.nextLife(r, time.Now())
	case o.lostSince(r.ended) && r.status != slot.Outcome(slot.Cancelled):
		// Redis does not know how it ended: the place is given up again, or there is another run.
	case r.status == slot.Outcome(slot.Cancelled) && (!req.Adopt || req.Redrive):
		o.nextLife(r, req.Submitted)
	case r.status == slot.Outcome(slot.Cancelled) && req.Adopt && req.Ticket > r.cancelled && len(o.losses) > 0:
		// It had another task, of a place that it got when Redis had forgotten the one that was cancelled, or the other way round.
		o.comesBack(b, r)
	case r.status == slot.Outcome(slot.Cancelled) && o.lostSince(r.ended) && (!r.outlives || r.flushes > 0):
		o.comesBack(b, r)
	case o.world.Decide && r.byStore && r.status == slot.Accept: // who runs it finds the result
	case o.world.Decide && r.byStore:
		o.except(DecidedAnew, b.key, "%s", label(r.id))
		o.nextLife(r, time.Now())
	default:
		o.violate(b.key, "I5: %s has ended (%s), and gets another place", label(r.id), r.status)
	}
	r.resent = r.resent || !req.Adopt && o.lostSince(r.placed)
	if r.begun == 0 {
		r.begun = ticket
	}
	r.returned = r.returned || req.Adopt && ticket < r.begun // a task of an earlier life, which Redis knows no longer to be over
	b.lives[ticket], r.placed, r.place = r.life, time.Now(), ticket
	delete(b.lost, ticket)
}

// comesBack sees that a request is taken up which had been cancelled.
func (o *oracle) comesBack(b *laneBook, r *requestBook) {
	o.except(CancelForgotten, b.key, "%s", label(r.id))
	r.status, r.started, r.returned = "", false, true
	if !r.acked.IsZero() {
		o.pending++
	}
}

func (o *oracle) nextLife(r *requestBook, arrived time.Time) {
	r.life = &life{arrived: arrived}
	o.lives++
	o.world.note(r.lane, "%s begins another life", label(r.id))
}

// end ends a life.
func (o *oracle) end(r *requestBook, l *life, status slot.Outcome, fence int64) {
	if l.status == "" && !l.acked.IsZero() {
		o.pending--
	}
	l.status, l.fence, l.ended, l.touched, l.cancelled = status, fence, time.Now(), time.Now(), l.place
	o.last = time.Now()
	o.world.wakes.ended(r.lane, r.id)
}

// endAsStored ends a life as the record store has it.
func (o *oracle) endAsStored(r *requestBook, l *life, stored record.Record) {
	o.end(r, l, slot.Outcome(stored.Status), stored.Fence)
	l.ended = stored.Finished
}

// kept checks that how a life ended outlasts Redis, or a task is there that will make it so: what is told, and what a task is
// given up for.
func (o *oracle) kept(r *requestBook, l *life, why string) {
	if !o.world.Durable || l.status != slot.Accept && l.status != slot.GiveUp || r.flushes > 0 || o.recorded(r, l) {
		return
	}
	if _, found := o.stored(r, l); found && o.lostSince(l.ended) {
		return // Redis has forgotten that end, which nobody was told, and the request has come to another
	}
	o.violate(r.lane, "durable: %s, and the end of %s is in Redis alone", why, label(r.id))
}

// LetterEmpty: an operator says that a request is dead in the moment in which its task is handed on, so that nobody has its payload.
const LetterEmpty = "dead by an operator's word, without its payload"

// DecidedAnew: a request that the record store has decided gives up its place in Redis, which had not heard of it, and runs again
// when its client sends it again.
const DecidedAnew = "another result than decided"

// decided ends a life as the record store has it, where that decides: Redis may hear of it later, or never. Only what is done stands
// also when the request has got another place since.
func (o *oracle) decided(r *requestBook, l *life) {
	if !o.world.Decide || l.status != "" {
		return
	}
	stored, found := o.stored(r, l)
	if found && (stored.Ticket >= l.place || stored.Status == record.Done) {
		o.endAsStored(r, l, stored)
		l.byStore, l.decree = true, stored.Fence
	}
}

// recorded says that the record store has how a life ended.
func (o *oracle) recorded(r *requestBook, l *life) bool {
	stored, found := o.stored(r, l)
	return r.life != l || found && slot.Outcome(stored.Status) == l.status
}

// stored is what the record store has of a life. Where it decides, what is done is also how a later life ends: a purge may have
// ended the one whose run had that decided meanwhile.
func (o *oracle) stored(r *requestBook, l *life) (record.Record, bool) {
	stored, found, err := o.world.records.Get(ctx0, r.lane, r.id)
	handed := o.world.Decide && stored.Status == record.Done && r.life == l
	return stored, err == nil && found && (handed || o.lifeOf(r, stored.Ticket) == l)
}

// letter says that a dead request is among the dead letters.
func (o *oracle) letter(r *requestBook) (found bool) {
	if o.world.Durable {
		stored, found, err := o.world.records.Get(ctx0, r.lane, r.id)
		return err == nil && found && stored.Status == record.Dead && stored.Payload != nil
	}
	_, found = o.world.plain.texts[slot.KeysOf(r.lane).DeadLetter(r.id)]
	return found
}

// removed sees that a dead letter is taken away: only a redrive does, once the new life is as safe as an accepted request.
func (o *oracle) removed(key, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.requests[id]; r != nil && r.status == "" && r.tasks == 0 {
		o.violate(key, "dead letter of %s is removed, and its new life has no task", label(id))
	}
}

// letterGone sees that a member is taken off a sorted set: the dead letters of lanes that are not durable are one.
func (o *oracle) letterGone(set, member string) {
	_, id, _ := strings.Cut(member, " ")
	o.mu.Lock()
	r := o.requests[id]
	o.mu.Unlock()
	if r != nil && set == slot.KeysOf(r.lane).DeadLetters() {
		o.removed(r.lane, id)
	}
}

// stands checks that what the record store has decided is still what it holds.
func (o *oracle) stands(r *requestBook) {
	stored, found, err := o.world.records.Get(ctx0, r.lane, r.id)
	if r.byStore && r.status == slot.Accept && (err != nil || !found || stored.Fence != r.decree) {
		o.violate(r.lane, "decide: %s was decided by fence %s, and the record store has another result", label(r.id), short(r.decree))
	}
}

// audit checks at the end of a run what is kept of the requests that came to theirs.
func (o *oracle) audit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.violations) > 0 {
		return
	}
	for _, r := range o.order {
		if r.acked.IsZero() && !r.hadTask {
			continue // nobody was told, and no task would tell
		}
		o.decided(r, r.life)
		o.kept(r, r.life, "all is over")
		o.stands(r)
		if r.status == slot.GiveUp && r.hadTask && !(o.lostSince(r.ended) && !o.world.Durable) && (o.world.Durable || o.world.Operator) && !o.letter(r) {
			if r.resolved || r.byStore {
				o.except(LetterEmpty, r.lane, "%s", label(r.id))
				continue
			}
			o.violate(r.lane, "dead letter of %s is missing", label(r.id))
		}
	}
}
