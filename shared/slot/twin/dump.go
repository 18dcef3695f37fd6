package twin

import (
	"math"
	"strconv"
	"strings"
)

// whole is a number as '%.0f' writes it.
func whole(x float64) int64 { return int64(math.RoundToEven(x)) }

// Dump is the state of a lane as slottest.Dump reads it from Redis, but for hash fields that are 0 or empty: whether those
// exist tells nothing. Keys are those of Redis without the lane's prefix.
func (s *Store) Dump(key string) map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[key]
	if l == nil {
		return map[string]map[string]string{}
	}
	out := map[string]map[string]string{"s": l.scalars.fields(), "q": {}, "l": {}, "d": {}, "o": {}, "v": {}, "f": {}, "j": {}}
	for t, e := range l.q {
		out["q"][number(t)] = e.pack()
	}
	for t, expiry := range l.l {
		out["l"][number(t)] = number(expiry)
	}
	for _, t := range l.d {
		out["d"][number(t)] = number(t)
	}
	for _, t := range l.o {
		out["o"][number(t)] = number(t)
	}
	for t := range l.v {
		out["v"][number(t)] = number(t)
	}
	for _, e := range l.f {
		out["f"][e.member()] = number(e.ticket)
	}
	for i, e := range l.j {
		out["j"][strconv.Itoa(i)] = e.String()
	}
	for id, r := range l.records {
		out["i:"+id] = r.fields()
	}
	for id, b := range l.bodies {
		out["b:"+id] = map[string]string{"": b.text}
	}
	for name, fields := range out {
		if len(fields) == 0 {
			delete(out, name)
		}
	}
	return out
}

// Ends tells when the keys of a lane expire, in Redis milliseconds, as slottest.Ends does; "" stands for the keys of the lane
// itself.
func (s *Store) Ends(key string) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int64{}
	if l := s.lanes[key]; l != nil {
		out[""], out["f"], out["j"] = l.end, l.fend, l.jend
		for id, r := range l.records {
			out["i:"+id] = r.end
		}
		for id, b := range l.bodies {
			out["b:"+id] = b.end
		}
	}
	return out
}

// Forget ends the life of a record at once.
func (s *Store) Forget(key, requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[key]; l != nil {
		delete(l.records, requestID)
		delete(l.bodies, requestID)
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (s scalars) fields() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]int64{
		"format": s.format, "gen": s.gen, "inc": s.inc, "nxt": s.nxt, "u": s.u, "mark": s.mark, "tat": s.tat, "fence": s.fence,
		"last": s.last, "since": s.since, "isi": s.isi, "prior": s.prior, "prev": s.prev, "granted": s.granted, "hold": s.hold, "fails": s.fails,
		"paused": s.paused, "kickseq": s.kickseq, "kickat": s.kickat, "kickset": s.kickset,
		"claim": s.claim, "claimend": s.claimend, "miss": s.miss, "missk": s.missk, "missat": s.missat, "end": s.end,
		"resolved": s.resolved, "lost": s.lost, "reach": s.reach, "horizon": s.horizon,
	} {
		put(out, name, number(value))
	}
	var gaps strings.Builder
	for _, g := range s.gaps {
		gaps.WriteString(number(g.from) + "-" + number(g.to) + ";")
	}
	put(out, "gaps", gaps.String())
	put(out, "parked", s.parked)
	put(out, "kickby", s.kickby)
	put(out, "claimby", s.claimby)
	return out
}

func put(fields map[string]string, name, value string) {
	if value != "" && value != "0" {
		fields[name] = value
	}
}

// pack is the entry as lane.lua joins it.
func (e *entry) pack() string {
	return strings.Join([]string{
		e.r, number(e.k), number(e.due), number(e.p), number(e.here), e.owner, number(e.fence), number(e.nb), number(e.started),
		number(e.lastfin), number(e.first), number(e.att), number(e.spared), number(e.parked), number(e.deadline), number(e.slip),
		e.target,
	}, "|")
}

func (r *record) fields() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{
		"status": r.status, "fp": r.fp, "owner": r.owner, "reason": r.reason, "detail": r.detail, "target": r.target,
		"durable": r.durable, "steered": r.steered, "ticket": number(r.ticket), "fence": number(r.fence),
		"submitted": number(r.submitted), "started": number(r.started), "finished": number(r.finished),
		"attempts": number(r.attempts),
	} {
		put(out, name, value)
	}
	return out
}
