package simulation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/slot/twin"
)

// Loss is a way for Redis to lose what it held.
type Loss string

// The losses.
const (
	// Emptied: a new server without data takes the place of the old one, whose connections break.
	Emptied Loss = "emptied"
	// RolledBack: a replica takes over that lacks the last 200 ms at most.
	RolledBack Loss = "rolled back"
	// Flushed: the data goes, and every connection stays.
	Flushed Loss = "flushed"
)

const (
	// lag is the most that a replica lacks when it takes over.
	lag = 200 * time.Millisecond
	// lossesApart is how far apart losses are, at least: of two within a minute, the first of which an instance has not heard, it may
	// make a generation whose numbers are not above those of the first.
	lossesApart = time.Minute
)

// lose has Redis lose its data now and then, while clients come.
func (w *World) lose(gone <-chan struct{}) {
	for n := int64(0); w.Faults.Loss > 0; n++ {
		r := w.dice.roll("loses", number(n))
		time.Sleep(r.span(lossesApart, []time.Duration{2 * time.Minute, 15 * time.Minute}[r.intn(2)]))
		select {
		case <-gone:
			return
		default:
		}
		if w.strike("loss", number(n), w.faults().Loss) {
			w.loseNow([]Loss{Emptied, RolledBack, RolledBack, Flushed}[r.intn(4)], r.span(time.Millisecond, lag))
		}
	}
}

func (w *World) loseNow(how Loss, lacks time.Duration) {
	if how == RolledBack {
		since := time.Now()
		lanes, rest, books := w.redis.Snapshot(), w.plain.clone(), w.oracle.snapshot()
		time.Sleep(lacks)
		w.performing.Lock()
		w.redis.Rollback(lanes)
		w.plain.take(rest)
		w.server++
		w.oracle.rolledBack(books, since)
		w.performing.Unlock()
		w.note("", "LOSS of %v", lacks)
	} else {
		w.performing.Lock()
		w.redis.Empty()
		w.plain.take(newPlain())
		if how == Emptied {
			w.server++
		}
		w.oracle.emptied(how)
		w.performing.Unlock()
		w.note("", "LOSS of everything: %s", how)
	}
	if how != Flushed {
		w.wakes.reconnect()
	}
}

// errReset is what a command comes to whose server is gone.
var errReset = errors.New("simulated: connection reset by peer")

// pinned is the key of the connection that is being made, in the contexts of its commands.
type pinned struct{}

// connection is to a server, made for a call.
type connection struct {
	server int64
	about  string
}

// sticky is the key of the server of a Refresh, in the contexts of its commands, 0 before the first: its one connection never reaches
// another. Else a look at a server that is gone would become the marker of the one after it.
type sticky struct{}

// refreshing is for calls of the tracker that may look at the marker and change it.
func refreshing(ctx context.Context) context.Context {
	return context.WithValue(ctx, sticky{}, new(atomic.Int64))
}

// stick has a Refresh stay with the server that its look has reached. performing is held.
func (w *World) stick(ctx context.Context) {
	if s, ok := ctx.Value(sticky{}).(*atomic.Int64); ok {
		s.CompareAndSwap(0, w.by.server)
	}
}

// connect returns the server that the instance's next command reaches. The first one that reaches a server asks for its generation
// first, as a new connection does.
func (in *instance) connect(ctx context.Context, about string) (server int64, err error) {
	if in.tracker == nil {
		return 0, nil
	}
	if c, making := ctx.Value(pinned{}).(connection); making {
		return c.server, nil
	}
	if s, ok := ctx.Value(sticky{}).(*atomic.Int64); ok && s.Load() != 0 {
		return s.Load(), nil
	}
	server = in.world.serving()
	if in.linked.Load() == server {
		return server, nil
	}
	conn := in.redis.Conn()
	defer func() { _ = conn.Close() }()
	if err := in.tracker.OnConnect(context.WithValue(ctx, pinned{}, connection{server, about}), conn); err != nil {
		return server, err
	}
	in.linked.Store(server)
	return server, nil
}

// restore puts the paused targets back, once for each generation, as bundle.Parts does.
func (in *instance) restore(ctx context.Context) {
	g, err := in.tracker.Current()
	if err != nil || in.restored.Swap(g.Number) == g.Number {
		return
	}
	ctx = context.WithoutCancel(ctx)
	in.Go(func() {
		if in.targets.Restore(ctx) != nil {
			in.restored.Store(0)
		}
	})
}

// serving is the server that is there now.
func (w *World) serving() int64 {
	w.performing.Lock()
	defer w.performing.Unlock()
	return w.server
}

// track gives the instance what it takes to notice a loss.
func (in *instance) track() {
	in.tracker = generation.New(generation.Options{Lease: in.world.Lease, First: in.first, Now: in.Now})
	in.tracker.Use(in.redis)
}

// first is generation.Firestore's: a document that the first process creates, and knows for its own. It returns also where its instance dies: others
// wait for it, whose goroutines have to end.
func (in *instance) first(ctx context.Context) (first bool, err error) {
	over := make(chan struct{})
	err = errAway
	go func() {
		defer close(over)
		first, err = stored(ctx, in, "first", "", func() (bool, error) {
			return in.world.lived.CompareAndSwap(nil, in) || in.world.lived.Load() == in, nil
		})
	}()
	<-over
	return first, err
}

// info is what INFO tells of a server.
func (w *World) info() string {
	return fmt.Sprintf("# Server\r\nrun_id:%d\r\n# Replication\r\nrole:master\r\nmaster_replid:%d\r\n", w.server, w.server)
}

// mark is marker.lua of package generation.
func (p *plain) mark(key string, args []string) int64 {
	var number, quarantine, restore, emptied int64
	cause := "absent"
	if parts := strings.Split(p.texts[key], "|"); len(parts) == 7 {
		number, quarantine, restore, emptied, cause = whole(parts[0]), whole(parts[1]), whole(parts[2]), whole(parts[6]), "another server"
		if parts[3] == args[0] {
			if cause = "rolled back"; number >= whole(args[1]) {
				return 0
			}
		}
	}
	now := time.Now().UnixMilli()
	till := func(old int64, length string) int64 {
		if whole(length) == 0 {
			return 0
		}
		return max(old, now+whole(length))
	}
	if args[5] != "" {
		cause = args[5]
	}
	p.newest = max(number+apart, whole(args[1])+apart, time.Now().UnixMicro())
	if cause == "absent" {
		emptied = p.newest
	}
	p.texts[key] = fmt.Sprintf("%d|%d|%d|%s|%s|%d|%d", p.newest, till(quarantine, args[2]), till(restore, args[3]), args[0], cause, number, emptied)
	return 1
}

func whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// apart is marker.lua's APART.
const apart = 60_000

// newest is what a caller knows that has noticed every loss.
func (w *World) newest() (c twin.Caller) {
	w.performing.Lock()
	defer w.performing.Unlock()
	c.Generation.Number = w.plain.newest
	return c
}

// late says that the caller of the command under way has not noticed that Redis was emptied. performing is held.
func (w *World) late() bool {
	if w.by.in == nil || w.by.in.tracker == nil {
		return false
	}
	parts := strings.Split(w.plain.texts[generation.Key], "|")
	return len(parts) < 7 || w.by.Generation.Number < whole(parts[6])
}

// unnoticed says that the caller of the command under way does not know the generation that Redis has by now. performing is held.
func (w *World) unnoticed() bool {
	if w.by.in == nil || w.by.in.tracker == nil {
		return false
	}
	number, _, _ := strings.Cut(w.plain.texts[generation.Key], "|")
	return whole(number) != w.by.Generation.Number
}
