package slot

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lane.lua
var laneLua string

//go:embed reserve.lua
var reserveLua string

//go:embed start.lua
var startLua string

//go:embed renew.lua
var renewLua string

//go:embed finish.lua
var finishLua string

//go:embed ending.lua
var endingLua string

//go:embed confirm.lua
var confirmLua string

//go:embed void.lua
var voidLua string

//go:embed missing.lua
var missingLua string

//go:embed kick.lua
var kickLua string

//go:embed flushed.lua
var flushedLua string

//go:embed list.lua
var listLua string

//go:embed records.lua
var recordsLua string

//go:embed horizon.lua
var horizonLua string

//go:embed journal.lua
var journalLua string

//go:embed inspect.lua
var inspectLua string

//go:embed pause.lua
var pauseLua string

//go:embed purge.lua
var purgeLua string

//go:embed cancel.lua
var cancelLua string

//go:embed resolve.lua
var resolveLua string

// Verdict is the answer of a slot script.
type Verdict string

// script is one verb of the protocol.
type script struct {
	name string
	// marks are what the script is told first of what was kept outside Redis.
	marks string
	*redis.Script
}

func newScript(name, body string) script {
	return script{name, unread, redis.NewScript(laneLua + body)}
}

// newReader returns a script that only reads: it need not know what was kept outside Redis.
func newReader(name, body string) script {
	return script{name, readOnly, redis.NewScript(laneLua + body)}
}

var (
	reserveScript = newScript("reserve", reserveLua)
	startScript   = newScript("start", startLua)
	renewScript   = newScript("renew", renewLua)
	finishScript  = newScript("finish", finishLua)
	endingScript  = newScript("ending", endingLua)
	confirmScript = newScript("confirm", confirmLua)
	voidScript    = newScript("void", voidLua)
	missingScript = newScript("missing", missingLua)
	kickScript    = newScript("kick", kickLua)
	inspectScript = newReader("inspect", inspectLua)
	listScript    = newReader("list", listLua)
	recordsScript = newReader("records", recordsLua)
	horizonScript = newScript("horizon", horizonLua)
	journalScript = newReader("journal", journalLua)
	flushedScript = newScript("flushed", flushedLua)
	pauseScript   = newScript("pause", pauseLua)
	purgeScript   = newScript("purge", purgeLua)
	cancelScript  = newScript("cancel", cancelLua)
	resolveScript = newScript("resolve", resolveLua)
)

var (
	// ErrGeneration says that Redis holds lanes of a newer generation than the store of generations knows, twice.
	ErrGeneration = errors.New("slot: the lane is of a newer generation of Redis than this instance knows")
	// ErrFormat says that a newer version of the code has written the lane.
	ErrFormat = errors.New("slot: the lane was written by a newer version of the code: deploy that version here too")
	// ErrMarks says that what outlived Redis of the lane cannot be read, and nothing happens on the lane before it can.
	ErrMarks = errors.New("slot: what outlived Redis of the lane cannot be read")
	// ErrReply says that a script answered something this code cannot read. It should never happen.
	ErrReply = errors.New("slot: unreadable reply of a script")
)

// Store runs the scripts. It is safe for concurrent use.
type Store struct {
	// Paused lists the targets against which nothing starts, as PausedTargets.List does; its error is the script's. Nil: none. Set it
	// before the first call.
	Paused func(context.Context) ([]string, error)
	// Restore reads what outlived Redis of the lane of key. Nil: nothing does. Set it before the first call.
	Restore func(ctx context.Context, key string) (Marks, error)

	rdb         redis.Scripter
	generations Generations
	intervals   *Intervals
}

// New returns a Store on rdb. intervals may be nil: lanes that have learned nothing then guess ColdInterval.
func New(rdb redis.Scripter, generations Generations, intervals *Intervals) *Store {
	return &Store{rdb: rdb, generations: generations, intervals: intervals}
}

// run calls a script with the lane's common arguments. When the lane is of a newer generation it finds the generation out again
// and tries once more; when the lane may have been lost, it tries again with what was kept of it.
func (s *Store) run(ctx context.Context, sc script, lane Lane, records []string, args ...any) (r reply, err error) {
	paused, marks := "", sc.marks
	if s.Paused != nil && sc.name != renewScript.name { // a renewal is told no head, and must not wait for anything
		var names []string
		names, err = s.Paused(ctx)
		paused = words(names)
	}
	for refreshed := false; err == nil; {
		var raw any
		if raw, err = sc.Run(ctx, s.rdb, KeysOf(lane.Key).all(records), s.arguments(lane, marks, paused, args)...).Result(); err != nil {
			break
		}
		if r, err = parseReply(raw); err != nil {
			break
		}
		switch {
		case r.verdict == "FORMAT":
			err = ErrFormat
		case r.verdict == "GENERATION" && refreshed:
			err = ErrGeneration
		case r.verdict == "GENERATION":
			refreshed = true
			err = s.generations.Refresh(ctx)
		case r.verdict == "RESTORE":
			marks, err = s.kept(ctx, lane.Key)
		default:
			if number := r.int("new"); number > 0 && r.err == nil {
				if err = s.generations.Verify(ctx, number); err != nil {
					continue
				}
			}
			s.intervals.observe(lane.Policy, r.duration("isi", time.Microsecond))
			return r, r.err
		}
	}
	return reply{}, fmt.Errorf("slot %s of lane %q: %w", sc.name, lane.Key, err)
}

// kept reads what outlived Redis of a lane.
func (s *Store) kept(ctx context.Context, key string) (marks string, err error) {
	var m Marks
	if s.Restore != nil {
		if m, err = s.Restore(ctx, key); err != nil {
			err = fmt.Errorf("%w: %w", ErrMarks, err)
		}
	}
	return m.argument(), err
}

func (s *Store) arguments(lane Lane, marks, paused string, own []any) []any {
	keys := KeysOf(lane.Key)
	return append([]any{
		generation{s.generations}, marks, lane.Concurrency, lane.Burst, ms(lane.Spacing), ms(lane.Lease), ms(ConfirmWithin),
		ms(s.intervals.guess(lane.Policy)), ms(InlineWait), ms(lane.Retention), keys.Wake(),
		bit(lane.HoldAmbiguous), paused, keys.Ended(),
	}, own...)
}

// ms is d in whole milliseconds, rounded up: a bound may last longer than asked for, never shorter.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reply is a decoded answer: a verdict and named strings.
type reply struct {
	verdict Verdict
	fields  map[string]string
	err     error
}

func parseReply(raw any) (reply, error) {
	list, ok := raw.([]any)
	if !ok || len(list)%2 != 1 {
		return reply{}, fmt.Errorf("%w: %T of odd shape", ErrReply, raw)
	}
	words := make([]string, len(list))
	for i, v := range list {
		if words[i], ok = v.(string); !ok {
			return reply{}, fmt.Errorf("%w: element %d is a %T", ErrReply, i, v)
		}
	}
	r := reply{verdict: Verdict(words[0]), fields: make(map[string]string, len(words)/2)}
	for i := 1; i < len(words); i += 2 {
		r.fields[words[i]] = words[i+1]
	}
	return r, nil
}

// int reads a field; an absent or empty one is 0.
func (r *reply) int(name string) int64 {
	text := r.fields[name]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("%w: field %s is no integer", ErrReply, name))
		return 0
	}
	return n
}

func (r *reply) bool(name string) bool { return r.fields[name] == "1" }

func (r *reply) duration(name string, unit time.Duration) time.Duration {
	return time.Duration(r.int(name)) * unit
}

func (r *reply) seen() Seen {
	return Seen{
		Now: r.int("now"), Incarnation: r.int("inc"), Interval: r.duration("isi", time.Microsecond), Horizon: r.int("horizon"), Reach: r.int("reach"), Lost: r.int("lost"),
		Next: Head{
			Ticket: r.int("h"), Request: r.fields["hr"], K: int(r.int("hk")), Due: r.int("hdue"), Here: r.bool("hhere"),
			Deadline: r.int("hp"), At: r.int("hat"), Seen: r.int("hseen"),
		},
	}
}
