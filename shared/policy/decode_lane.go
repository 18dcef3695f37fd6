package policy

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

const day = 24 * time.Hour

func decodeLane(o object) *Lane {
	o.require("match", "target", "spacing")
	l := &Lane{
		Match:       o.pattern("match"),
		Spacing:     o.duration("spacing", 0, 0, day),
		Burst:       o.integer("burst", 1, 1000),
		Concurrency: o.integer("concurrency", 1, 1000),
		Respond:     choose(o, "respond", Immediate, Async),
		Lease:       o.duration("lease", 30*time.Second, 5*time.Second, 10*time.Minute),
		Attempts:    o.integer("attempts", 20, 10_000),
		MaxAge:      o.duration("max_age", day, time.Second, 29*day),
		Backoff:     o.backoff("backoff"),
		Exhausted:   choose(o, "exhausted", DeadLetter, Park),
		Ambiguous:   choose(o, "ambiguous", Retry, Hold),
		MaxDepth:    o.integer("max_depth", 20_000, 1_000_000),
		Retention:   o.duration("retention", day, time.Minute, 30*day),
		Durable:     o.boolean("durable", true),
		Decide:      choose(o, "decide", Redis, Firestore),
	}
	l.Name = l.Match
	if name, ok := o.text("name"); ok {
		if len(name.s) > 256 {
			name.fault("has %d bytes, want 256 at most", len(name.s))
		}
		l.Name = name.s
	}
	if target, ok := o.text("target"); ok {
		l.Target = target.s
		l.Targets = []string{target.s}
	}
	if targets, ok := o.texts("targets"); ok {
		l.Targets = make([]string, len(targets))
		for i, t := range targets {
			l.Targets[i] = t.s
		}
	}
	return l
}

// pattern reads a glob that at least the form of a key can match.
func (o object) pattern(name string) string {
	t, ok := o.text(name)
	switch {
	case !ok:
	case len(strings.ReplaceAll(t.s, "*", "")) > 256:
		t.fault("matches no key: a key has 256 bytes at most")
	case strings.ContainsFunc(t.s, unicode.IsControl):
		t.fault("matches no key: keys have no control characters")
	default:
		return t.s
	}
	return ""
}

func (o object) backoff(name string) Backoff {
	b := Backoff{Min: time.Second, Max: 10 * time.Minute}
	v, ok := o.take(name)
	if !ok {
		return b
	}
	bounds, ok := v.object()
	if !ok {
		return b
	}
	b.Min = bounds.duration("min", b.Min, time.Millisecond, day)
	b.Max = bounds.duration("max", b.Max, time.Millisecond, day)
	bounds.done()
	if b.Min > b.Max {
		v.fault("min %s is above max %s", short(b.Min), short(b.Max))
	}
	return b
}

// checkLanes checks what no lane can tell from itself.
func (d *decoder) checkLanes(doc *Document) {
	if doc.Targets != nil && len(doc.Targets) == 0 {
		d.fault("targets", "is empty, want one at least")
	}
	if doc.Lanes != nil && len(doc.Lanes) == 0 {
		d.fault("lanes", "is empty, want one at least")
	}
	for i, l := range doc.Lanes {
		here := value{d: d, path: index("lanes", i)}
		here.checkReach(l, doc.Lanes[:i])
		if l.Decide == Firestore && !l.Durable {
			d.fault(here.child("decide"), "firestore decides by durable records; say durable: true, or leave decide out")
		}
		if doc.Targets != nil {
			here.checkTargets(l, doc.Targets)
		}
	}
}

// checkReach reports the first of the earlier lanes that takes l's keys or
// its name.
func (v value) checkReach(l *Lane, earlier []*Lane) {
	for i, e := range earlier {
		switch {
		case l.Match == "" || e.Match == "": // reported already
		case covers(e.Match, l.Match):
			v.d.fault(v.child("match"), "no key gets here: %s, %q, takes all that %q matches; put the narrower pattern first",
				index("lanes", i), e.Match, l.Match)
			return
		case l.Name == e.Name:
			v.d.fault(v.child("name"), "%q is the name of %s already", l.Name, index("lanes", i))
			return
		}
	}
}

func (v value) checkTargets(l *Lane, known map[string]*Target) {
	if l.Target == "" { // reported already
		return
	}
	if known[l.Target] == nil {
		v.d.fault(v.child("target"), "there is no target %q; known are %s", l.Target, namesOf(known))
	}
	path := v.child("targets")
	if !slices.Contains(l.Targets, l.Target) {
		v.d.fault(path, "does not hold the lane's own target %q", l.Target)
	}
	for i, name := range l.Targets {
		switch {
		case slices.Contains(l.Targets[:i], name):
			v.d.fault(index(path, i), "%q is listed already", name)
		case name != "" && name != l.Target && known[name] == nil:
			v.d.fault(index(path, i), "there is no target %q; known are %s", name, namesOf(known))
		}
	}
}

func namesOf(targets map[string]*Target) string {
	if len(targets) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(targets)), ", ")
}
