package twin_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/journal"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

func (p *pair) id() string    { return fmt.Sprintf("r%d", rapid.IntRange(0, 7).Draw(p.T, "id")) }
func (p *pair) owner() string { return fmt.Sprintf("o%d", rapid.IntRange(0, 3).Draw(p.T, "owner")) }

func (p *pair) reserve() {
	req := slot.ReserveRequest{
		ID: p.id(), Fingerprint: rapid.SampledFrom([]string{"f", "f", "f", "g"}).Draw(p.T, "fingerprint"), Owner: p.owner(),
		Immediate: rapid.Bool().Draw(p.T, "immediate"), Adopt: rapid.IntRange(0, 5).Draw(p.T, "adopt") == 0,
		Submitted: time.UnixMilli(1796119200000), Target: rapid.SampledFrom([]string{"t", "u"}).Draw(p.T, "target"),
		Redrive: rapid.IntRange(0, 5).Draw(p.T, "redrive") == 0,
	}
	if req.Adopt && rapid.Bool().Draw(p.T, "keep") {
		old := pick(p, p.tickets, "old")
		req.Ticket, req.K = old.Ticket, rapid.IntRange(0, 2).Draw(p.T, "old k")
		if old.Ticket != 0 {
			req.Ticket += int64(rapid.IntRange(0, 3).Draw(p.T, "lost"))
		}
	}
	if in := rapid.SampledFrom([]int64{0, 0, 1, 3000, 70000}).Draw(p.T, "deadline"); in > 0 {
		req.Deadline = time.UnixMilli(p.clock.Now() + in)
	}
	res := both(p, "reserve", func(v verbs) (slot.Reservation, error) { return v.Reserve(p.Context(), p.lane, req) })
	if res.Ticket == 0 {
		return
	}
	p.tickets = append(p.tickets, slot.StartRequest{Ticket: res.Ticket, Incarnation: res.Incarnation, Request: req.ID})
	if res.Verdict == slot.Run {
		p.grants = append(p.grants, held{res.Grant, req.ID})
	}
}

func (p *pair) start() {
	req := pick(p, p.tickets, "ticket")
	if req.Ticket == 0 {
		return
	}
	req.K, req.Owner = rapid.IntRange(0, 2).Draw(p.T, "k"), p.owner()
	req.Left = rapid.SampledFrom([]time.Duration{-1, 0, time.Second, slot.InlineWait}).Draw(p.T, "left")
	req.Jitter = rapid.SampledFrom([]float64{1, 0.875, 1.125}).Draw(p.T, "jitter")
	if rapid.IntRange(0, 9).Draw(p.T, "strange") == 0 {
		req.Incarnation += int64(rapid.IntRange(-1, 1).Draw(p.T, "incarnation"))
		req.Ticket += int64(rapid.IntRange(-2, 2).Draw(p.T, "other"))
	}
	p.started(req, req.Request)
}

func (p *pair) drive() {
	head := p.seen.Next
	if rapid.IntRange(0, 5).Draw(p.T, "other head") == 0 {
		task := pick(p, p.tickets, "ticket")
		head = slot.Head{Ticket: task.Ticket, Request: task.Request}
	}
	if head.Ticket == 0 {
		return
	}
	own := pick(p, p.tickets, "own")
	own.Owner, own.Drive, own.DriveRequest, own.Jitter = p.owner(), head.Ticket, head.Request, 1
	p.started(own, head.Request)
}

func (p *pair) started(req slot.StartRequest, runs string) {
	res := both(p, "start", func(v verbs) (slot.Started, error) { return v.Start(p.Context(), p.lane, req) })
	p.seen = res.Seen
	if res.Verdict == slot.Run {
		p.grants = append(p.grants, held{res.Grant, runs})
	}
}

func (p *pair) finish() {
	g := pick(p, p.grants, "grant")
	if g.Ticket == 0 {
		return
	}
	req := slot.FinishRequest{
		Grant: g.Grant, Request: g.request, Response: p.response(g.Fence), Reason: "status", Detail: "d",
		Outcome: rapid.SampledFrom([]slot.Outcome{slot.Accept, slot.Retry, slot.Retry, slot.GiveUp}).Draw(p.T, "outcome"),
		K:       rapid.IntRange(-1, 2).Draw(p.T, "k"), Own: rapid.Bool().Draw(p.T, "own"),
		Counts: rapid.IntRange(0, 3).Draw(p.T, "counts") > 0, Jitter: rapid.SampledFrom([]float64{1, 0.8, 1.2}).Draw(p.T, "jitter"),
		RetryAfter: rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second}).Draw(p.T, "retry after"),
	}
	if rapid.IntRange(0, 3).Draw(p.T, "ending") == 0 {
		both(p, "ending", func(v verbs) (slot.Ending, error) { return v.Ending(p.Context(), p.lane, req) })
		return
	}
	res := both(p, "finish", func(v verbs) (slot.Finished, error) { return v.Finish(p.Context(), p.lane, req) })
	p.seen = res.Seen
}

// response is none, a short one, or one that Redis gives away once it is durable.
func (p *pair) response(fence int64) []byte {
	text := fmt.Sprint("result ", fence)
	return []byte(strings.Repeat(text, rapid.SampledFrom([]int{0, 1, 1, slot.FlushedResponse}).Draw(p.T, "size")))
}

func (p *pair) flushed() {
	g := pick(p, p.grants, "grant")
	if g.Ticket == 0 {
		return
	}
	req := slot.FlushedRequest{
		ID: g.request, Ticket: g.Ticket, Fence: g.Fence + int64(rapid.IntRange(0, 4).Draw(p.T, "other")/4),
		Same: rapid.IntRange(0, 3).Draw(p.T, "same") > 0, Keyed: rapid.Bool().Draw(p.T, "keyed"),
		Held: rapid.SampledFrom([]slot.Status{"", "", slot.Done, slot.Dead}).Draw(p.T, "held"),
	}
	both(p, "flushed", func(v verbs) (struct{}, error) { return struct{}{}, v.Flushed(p.Context(), p.lane, req) })
}

func (p *pair) renew() {
	g := pick(p, p.grants, "grant")
	if rapid.IntRange(0, 5).Draw(p.T, "foreign") == 0 {
		g.Owner = p.owner()
	}
	both(p, "renew", func(v verbs) (r struct {
		At int64
		OK bool
	}, err error) {
		r.At, r.OK, err = v.Renew(p.Context(), p.lane, g.Grant)
		return r, err
	})
}

func (p *pair) confirm() {
	task := pick(p, p.tickets, "ticket")
	if task.Ticket == 0 {
		return
	}
	both(p, "confirm", func(v verbs) (bool, error) {
		return v.Confirm(p.Context(), p.lane, task.Request, task.Ticket, task.Incarnation)
	})
}

func (p *pair) void() {
	task := pick(p, p.tickets, "ticket")
	if task.Ticket == 0 {
		return
	}
	atOnce := rapid.Bool().Draw(p.T, "at once")
	res := both(p, "void", func(v verbs) (slot.Looked, error) {
		return v.Void(p.Context(), p.lane, task.Request, task.Ticket, atOnce)
	})
	p.seen = res.Seen
}

func (p *pair) giveUp() {
	g := pick(p, p.grants, "grant")
	if g.Ticket == 0 {
		return
	}
	fence := g.Fence * int64(rapid.IntRange(0, 1).Draw(p.T, "leased"))
	res := both(p, "give up", func(v verbs) (slot.Looked, error) { return v.GiveUp(p.Context(), p.lane, g.request, g.Ticket, fence) })
	p.seen = res.Seen
}

func (p *pair) voidHead() {
	h := p.head()
	res := both(p, "void head", func(v verbs) (slot.Looked, error) { return v.VoidHead(p.Context(), p.lane, h) })
	p.seen = res.Seen
}

// head is the head as seen last, or now.
func (p *pair) head() slot.Head {
	h := p.seen.Next
	if rapid.Bool().Draw(p.T, "seen now") {
		h.Seen = p.clock.Now()
	}
	return h
}

func (p *pair) missing() {
	if h := p.head(); h.Ticket != 0 {
		both(p, "missing", func(v verbs) (slot.Looked, error) { return v.Missing(p.Context(), p.lane, h) })
	}
}

func (p *pair) settle() {
	status := rapid.SampledFrom([]slot.Status{"", "", slot.Done, slot.Dead}).Draw(p.T, "status")
	if h := p.head(); h.Ticket != 0 {
		both(p, "settle", func(v verbs) (slot.Looked, error) {
			return v.Settle(p.Context(), p.lane, h, status)
		})
	}
}

func (p *pair) doKick() {
	in := rapid.SampledFrom([]int64{-1000, 0, 5000, 60000}).Draw(p.T, "in")
	owner, at := p.owner(), p.clock.Now()+in
	r := both(p, "kick", func(v verbs) (r struct{ Seq, At int64 }, err error) {
		r.Seq, r.At, err = v.Kick(p.Context(), p.lane, p.seen.Incarnation, at, owner)
		return r, err
	})
	p.kick = max(p.kick, r.Seq)
}

func (p *pair) kicked() {
	seq := max(1, p.kick-int64(rapid.IntRange(0, 1).Draw(p.T, "late")))
	p.started(slot.StartRequest{Incarnation: p.seen.Incarnation, Kick: seq, Owner: p.owner(), Left: -1, Jitter: 1}, "")
}

func (p *pair) inspect() {
	id := p.id()
	both(p, "inspect", func(v verbs) (r struct {
		Lane    slot.State
		Request slot.RequestState
	}, err error) {
		r.Lane, r.Request, err = v.Inspect(p.Context(), p.lane, id)
		return r, err
	})
}

func (p *pair) list() {
	req := slot.ListRequest{
		After: pick(p, p.tickets, "after").Ticket, Size: rapid.SampledFrom([]int{1, 2, 3, 100}).Draw(p.T, "page"),
		Only: rapid.SampledFrom([]string{"", "", "queued", "running", "unknown", "done", "dead", "cancelled"}).Draw(p.T, "only"),
	}
	if rapid.Bool().Draw(p.T, "from the start") {
		req.After = 0
	}
	both(p, "list", func(v verbs) (slot.Listed, error) { return v.List(p.Context(), p.lane, req) })
}

func (p *pair) journal() {
	both(p, "journal", func(v verbs) ([]journal.Entry, error) { return v.Journal(p.Context(), p.lane) })
}

// entries are the lane's journal.
func entries(p *pair, v verbs) []journal.Entry {
	list, err := v.Journal(p.Context(), p.lane)
	if err != nil {
		p.Fatal(err)
	}
	return list
}

// operate does what no verb does: the end of a record, a new generation, a new policy, paused targets.
func (p *pair) operate() {
	if p.seen.Incarnation == 0 {
		return
	}
	switch rapid.IntRange(2, 10).Draw(p.T, "operation") {
	case 2:
		p.lose(true)
	case 3:
		id := p.id()
		if err := p.rdb.Del(p.Context(), slot.KeysOf(p.lane.Key).Record(id), slot.KeysOf(p.lane.Key).Response(id)).Err(); err != nil {
			p.Fatal(err)
		}
		p.twin.Forget(p.lane.Key, id)
	case 4:
		p.lose(false)
	case 5, 6:
		p.lane.Spacing = rapid.SampledFrom([]time.Duration{0, 20 * time.Millisecond, time.Second}).Draw(p.T, "spacing")
		p.lane.Burst = rapid.SampledFrom([]int{1, 3}).Draw(p.T, "burst")
	case 7:
		p.lane.Concurrency = rapid.SampledFrom([]int{1, 3}).Draw(p.T, "concurrency")
	case 8:
		p.paused = rapid.SampledFrom([][]string{nil, {"t"}, {"t", "u"}}).Draw(p.T, "paused targets")
	case 9:
		p.lane.Park, p.lane.HoldAmbiguous = rapid.Bool().Draw(p.T, "park"), rapid.Bool().Draw(p.T, "hold")
	}
}

// lose loses Redis: all of it, or its last milliseconds; then its generation is another.
func (p *pair) lose(all bool) {
	now := p.clock.Now()
	p.generation.Number++
	p.generation.QuarantineUntil = now + 5000
	p.generation.RestoreUntil = rapid.SampledFrom([]int64{0, now + 90000, now + 90000}).Draw(p.T, "restore")
	p.marks = slot.Marks{Paused: rapid.IntRange(0, 5).Draw(p.T, "was paused") == 0, Reach: now + rapid.SampledFrom([]int64{-1000, 20000}).Draw(p.T, "reach")}
	if t := pick(p, p.tickets, "purged").Ticket; t != 0 && rapid.IntRange(0, 3).Draw(p.T, "was purged") == 0 {
		p.marks.Purged = t
	}
	if t := pick(p, p.tickets, "parked").Ticket; t != 0 && rapid.IntRange(0, 3).Draw(p.T, "was parked") == 0 {
		p.marks.Parked = []int64{t}
	}
	if rapid.IntRange(0, 3).Draw(p.T, "had been emptied") == 0 { // the lane, if any, began before that was noticed
		p.generation.Emptied = p.generation.Number
	}
	if !all {
		return
	}
	keys, err := slottest.Keys(p.Context(), p.rdb, p.lane.Key)
	if err == nil && len(keys) > 0 {
		err = p.rdb.Del(p.Context(), keys...).Err()
	}
	if err != nil {
		p.Fatal(err)
	}
	p.twin.Empty()
}

// steer does what operators do.
func (p *pair) steer() {
	id := p.id()
	switch rapid.IntRange(0, 7).Draw(p.T, "steering") {
	case 0, 1:
		both(p, "cancel", func(v verbs) (slot.Cancelling, error) { return v.Cancel(p.Context(), p.lane, id) })
	case 2:
		hold := rapid.Bool().Draw(p.T, "hold lane")
		p.seen = both(p, "pause", func(v verbs) (slot.Seen, error) { return v.Pause(p.Context(), p.lane, hold) })
	case 3:
		both(p, "purge", func(v verbs) (slot.Purging, error) { return v.Purge(p.Context(), p.lane) })
	case 4:
		until := p.clock.Now() + rapid.SampledFrom([]int64{-1, 30000}).Draw(p.T, "horizon")
		both(p, "extend", func(v verbs) (struct{}, error) { return struct{}{}, v.Extend(p.Context(), p.lane, until) })
	default:
		as := rapid.SampledFrom([]slot.Resolution{
			slot.Redrive, slot.Redrive, slot.Skip, slot.ResolveRetry, slot.ResolveDone, slot.ResolveDead,
		}).Draw(p.T, "resolution")
		if h := p.seen.Next; h.Request != "" && rapid.Bool().Draw(p.T, "the head") {
			id = h.Request
		}
		p.steers++
		owner := fmt.Sprint("s", p.steers)
		both(p, "resolve", func(v verbs) (slot.Cancelling, error) { return v.Resolve(p.Context(), p.lane, id, as, owner) })
	}
}
