package twin

import "math"

func (c *call) arrival() int64 {
	if c.s.granted == 0 {
		return c.s.tat
	}
	return min(max(c.s.tat, c.s.granted+c.spacing), c.s.granted+c.burst*c.spacing)
}

func (c *call) gate() int64 { return c.arrival() - (c.burst-1)*c.spacing }

func (c *call) notBefore(t int64, e *entry) int64 {
	at := max(c.s.hold, c.reach(t))
	if !c.without(Quarantine) {
		at = max(at, c.gen.QuarantineUntil)
	}
	if e != nil {
		at = max(at, e.nb)
	}
	return at
}

// reach is until when t waits for what was accepted before Redis was lost.
func (c *call) reach(t int64) int64 {
	if t != 0 && t < c.s.inc || c.without(ReachHolds) {
		return 0
	}
	return c.s.reach
}

func (c *call) runAt(t int64, e *entry) int64 {
	if c.without(Pace) {
		return max(c.s.since, c.notBefore(t, e))
	}
	return max(c.gate(), c.s.since, c.notBefore(t, e))
}

func (c *call) learned() float64 { return float64(c.s.isi) / 1000 }

func (c *call) interval() float64 {
	if c.s.isi > 0 {
		return float64(max(c.s.isi, c.s.prior)) / 1000
	}
	return c.guess
}

func (c *call) lead() float64 { return min(3000, 16*max(float64(c.spacing), c.interval())) }

// slot is the start of t told to a client at rank at.
func (c *call) slot(at, t int64) int64 {
	from := max(c.now, c.notBefore(c.head()), c.reach(t))
	paced := max(from, c.arrival()) + (at-c.burst+1)*c.spacing
	return int64(math.Ceil(max(float64(from), float64(paced), float64(from)+float64(at)*c.learned())))
}

// backstop is the schedule for the task of t at rank at, for one that snoozes or a new one.
func (c *call) backstop(t, at int64, snoozing bool) int64 {
	h, e := c.head()
	base := max(c.now, c.gate(), c.notBefore(h, e), c.reach(t))
	if snoozing && e != nil && e.p > 0 && h != t {
		base = max(base, e.p)
	}
	if c.running() >= c.n {
		if _, first := c.firstExpiry(); c.q[first] != nil {
			base = max(base, c.now+min(c.now-c.q[first].started, 60000))
		}
	}
	spacing := float64(c.spacing)
	slow, step := 2*c.interval(), 1.02*spacing
	if c.s.isi > 0 && c.learned() <= spacing+min(spacing/2, 0.05*spacing+away) {
		slow, step = 0.02*spacing, 1.02*max(spacing, c.learned())
	}
	if c.burst > 1 {
		step = spacing
	}
	paced := float64(max(base, c.arrival())) + float64(at-c.burst+1)*step
	return int64(math.Floor(max(float64(base)+float64(at)*slow, paced) - c.lead()))
}

// pace takes the pace of a grant.
func (c *call) pace() {
	switch {
	case c.without(PaceWhenGranted):
	case c.without(GateNeverBack):
		c.s.tat = c.now + c.spacing
	default:
		c.s.tat = max(c.arrival(), c.now) + c.spacing
	}
}
