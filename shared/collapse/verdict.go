package collapse

import (
	"fmt"
	"time"
)

// The verdicts of join.lua.
const (
	verdictHit    = "HIT"
	verdictStale  = "STALE"
	verdictLead   = "LEAD"
	verdictWait   = "WAIT"
	verdictPass   = "PASS"
	verdictLocal  = "LOCAL"
	verdictFailed = "FAILED"
	verdictError  = "ERROR"
)

// verdict is a decoded reply of join.
type verdict struct {
	kind string
	text []byte   // the value, the failure, or why to fetch in the instance
	n    [4]int64 // what follows it
	has  bool     // with lead: there is a value
}

func parseVerdict(raw any) (verdict, bool) {
	list, _ := raw.([]any)
	if len(list) < 2 || len(list) > 6 {
		return verdict{}, false
	}
	kind, ok1 := list[0].(string)
	text, ok2 := list[1].(string)
	v := verdict{kind: kind, text: []byte(text), has: len(list) == 6}
	for i, item := range list[2:] {
		v.n[i], _ = item.(int64)
	}
	return v, ok1 && ok2
}

func (v verdict) span(i int) time.Duration { return time.Duration(v.n[i]) * time.Millisecond }

// Of a value: its age, and what is left of its fresh life.
func (v verdict) age() time.Duration { return v.span(0) }
func (v verdict) ttl() time.Duration { return v.span(1) }

// Of a lead: how long the value may still be served, meanwhile and on failure.
func (v verdict) whileRevalidate() time.Duration { return v.span(2) }
func (v verdict) ifError() time.Duration         { return v.span(3) }

// Of a wait: what is left of the leader's lease, and when it was granted, in
// Redis time.
func (v verdict) lease() time.Duration { return v.span(0) }
func (v verdict) began() int64         { return v.n[1] }

// stored is what a Fetch is handed.
func (v verdict) stored() *Stored {
	if !v.has {
		return nil
	}
	return &Stored{Value: v.text, Age: v.age()}
}

// stale is the reply that serves the stored value.
func (v verdict) stale() reply {
	return reply{result: Result{Value: v.text, Outcome: Stale, TTL: v.ttl(), Age: v.age()}}
}

// reply is the answer of a verdict that needs no fetch. awaited: the callers
// have waited for it.
func (v verdict) reply(awaited bool) reply {
	switch v.kind {
	case verdictPass:
		return reply{pass: true}
	case verdictStale:
		return v.stale()
	case verdictHit:
		r := Result{Value: v.text, Outcome: Hit, TTL: v.ttl(), Age: v.age()}
		if awaited {
			r.Outcome, r.Collapsed, r.Stored = Miss, true, v.ttl() > 0
		}
		return reply{result: r}
	case verdictFailed:
		r := Result{Value: v.text, Outcome: Hit, Failed: true}
		if awaited {
			r.Outcome, r.Collapsed = Miss, true
		}
		return reply{result: r}
	default: // verdictError
		return reply{err: fmt.Errorf("%w: %s", ErrOrigin, v.text)}
	}
}
