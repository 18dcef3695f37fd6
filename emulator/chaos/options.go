package chaos

import (
	"cmp"
	"io"
	"time"
)

// Options of a run. The zero value is not usable: Program is required.
type Options struct {
	// For is how long requests arrive and faults happen; what waits then is waited for.
	// Default: 30s.
	For time.Duration
	// Seed decides faults, their order, and what clients want. How the processes are scheduled it does not.
	Seed uint64
	// Program is a command line that calls Serve when Command is added to it.
	Program []string
	// Faults are those to inject, each by how its name begins.
	// Default: all.
	Faults []string
	// Every is the mean time between two faults.
	// Default: such that one deck of them fits into For, at most 3s.
	Every time.Duration
	// Rate is how many requests arrive in a second, over all lanes.
	// Default: 40.
	Rate float64
	// Hold has the operator pause lanes. After a loss of Redis these may need a quarter of an hour.
	Hold bool
	// Drain is how long no request may end while some still wait, when all is calm: after losses of Redis in quick succession a lane
	// waits for what was accepted before the first.
	// Default: 5m.
	Drain time.Duration
	// Dir is where the processes write their lines, and faults.log is.
	// Default: a temporary one, removed unless a promise was broken.
	Dir string
	// Lines has the functions log every transition, not only what is wrong.
	Lines bool
	// Out is told what happens.
	// Default: nobody is.
	Out io.Writer
}

func (o Options) withDefaults() Options {
	o.For = cmp.Or(o.For, 30*time.Second)
	o.Rate = cmp.Or(o.Rate, 40)
	o.Drain = cmp.Or(o.Drain, 5*time.Minute)
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// How many instances of each function there are, and lanes of each kind.
const (
	instances = 3
	lanesEach = 4
)
