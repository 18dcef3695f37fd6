package collapse

import (
	"cmp"
	"time"
)

// MaxValue is the longest value that is stored, in bytes. A longer one is
// shared in the instance that fetched it and nowhere else.
const MaxValue = 1 << 20

// MaxLife caps each of the lives in [Times], and thereby every key in Redis.
const MaxLife = 24 * time.Hour

// Times are the lives of a value. Each is rounded up to whole milliseconds and
// cut to [0, MaxLife].
type Times struct {
	// Fresh is how long a value answers by itself. It counts from before the
	// fetch, less [Answer.Age], and a tenth of it at most is taken off by
	// chance, so that what was stored together does not expire together. With 0
	// the value goes to those who wait for the flight, and to nobody later.
	Fresh time.Duration

	// WhileRevalidate is how long past Fresh a value still answers all but the
	// one caller who fetches a new one.
	WhileRevalidate time.Duration

	// IfError is how long past Fresh a value still answers when the origin
	// fails.
	IfError time.Duration

	// Keep is how long past Fresh a value is kept for nothing but to be handed
	// to a Fetch, which may then ask the origin whether it has changed.
	Keep time.Duration
}

// Policy says how reads of one kind are collapsed. The zero value is usable:
// nothing is stored for later callers, and the bounds are the defaults.
type Policy struct {
	// Times are the lives of answers that name none.
	Times

	// NegativeTTL is how long a failure answers for the origin. With 0 it goes
	// to those who wait for the flight.
	NegativeTTL time.Duration

	// Timeout bounds one fetch. Defaults to 5s.
	Timeout time.Duration

	// Wait bounds the stay of one caller in [Group.Do].
	// Defaults to 2 x Timeout + Lease: the leader dies at the end of its fetch,
	// its successor needs a whole one.
	Wait time.Duration

	// Lease is how long the death of a leader can go unnoticed. The leader
	// renews after a third of it. Defaults to 3s.
	Lease time.Duration

	// PassTTL is how long callers pass after an answer that cannot be shared,
	// before one tries again whether it still cannot. Defaults to 30s.
	PassTTL time.Duration

	// Passes is how many callers of this instance may pass at once for one
	// key; the others wait for their turn. Defaults to 16.
	Passes int

	// MaxBytes bounds what the origin's entries take in Redis: every value and
	// failure with its length, and 1024 for each flight key in use, until at
	// most an eighth of its life after it has expired. The memory that Redis's
	// allocator takes for this is at most a third more. What does not fit is
	// not stored, and fetched once per instance. Defaults to 64 MiB.
	MaxBytes int64

	// Stamp ties answers to a state outside: only an answer that was fetched
	// under an equal stamp is used. Read the stamp before calling Do. For one
	// key at a time the value of one stamp is kept; a caller with another
	// stamp than a fetch under way has, fetches in its own instance.
	Stamp string
}

func (p Policy) withDefaults() Policy {
	p.Timeout = cmp.Or(p.Timeout, 5*time.Second)
	p.Lease = cmp.Or(p.Lease, 3*time.Second)
	p.Wait = cmp.Or(p.Wait, 2*p.Timeout+p.Lease)
	p.PassTTL = cmp.Or(p.PassTTL, 30*time.Second)
	p.Passes = cmp.Or(p.Passes, 16)
	p.MaxBytes = cmp.Or(p.MaxBytes, 64<<20)
	return p
}

// ms is d in whole milliseconds, rounded up and cut to [0, MaxLife].
func ms(d time.Duration) int64 {
	d = min(max(d, 0), MaxLife)
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
