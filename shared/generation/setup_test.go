package generation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	. "github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func TestMain(m *testing.M) { firestoretest.Main(m) }

const (
	lease      = 6 * time.Minute
	quarantine = 8 * 60 * 1000            // ms
	restoring  = 32 * 24 * 60 * 60 * 1000 // ms
)

// process is a function instance: a tracker and its client.
type process struct {
	*Tracker

	t    *testing.T
	rdb  *redis.Client
	addr atomic.Value // string: where it dials
	log  buffer
	// cut has the connection closed instead of the reply to the next command that holds the text.
	cut   atomic.Value // string
	asked atomic.Int64 // how often First was called
	skew  atomic.Int64 // of the clock of Check
}

// start starts a process that finds Redis at addr and asks first, which may be nil.
func start(t *testing.T, addr string, first func(context.Context) (bool, error)) *process {
	t.Helper()
	p := &process{t: t}
	p.addr.Store(addr)
	p.cut.Store("")
	o := Options{Lease: lease, Now: func() time.Time { return time.Unix(p.skew.Load(), 0) }}
	if first != nil {
		o.First = func(ctx context.Context) (bool, error) {
			p.asked.Add(1)
			return first(ctx)
		}
	}
	p.Tracker = New(o)
	var err error
	p.rdb, err = redisconn.Open(redisconn.Config{URL: "redis://" + addr}, redisconn.OnConnect(p.OnConnect), func(o *redis.Options) { o.Dialer = p.dial })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.rdb.Close() })
	p.Use(p.rdb)
	return p
}

func (p *process) ctx() context.Context {
	return logging.WithContext(p.t.Context(), slog.New(slog.NewTextHandler(&p.log, nil)))
}

// connect has the process know a generation, by whatever connection it has or gets.
func (p *process) connect() slot.Generation {
	p.t.Helper()
	if err := p.rdb.Ping(p.ctx()).Err(); err != nil {
		p.t.Fatal(err)
	}
	return p.now()
}

func (p *process) now() slot.Generation {
	p.t.Helper()
	g, err := p.Current()
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

func (p *process) refresh() slot.Generation {
	p.t.Helper()
	if err := p.Refresh(p.ctx()); err != nil {
		p.t.Fatal(err)
	}
	return p.now()
}

// check is Check once it is due.
func (p *process) check() slot.Generation {
	p.t.Helper()
	p.skew.Add(int64(CheckedWithin / time.Second))
	if err := p.Check(p.ctx()); err != nil {
		p.t.Fatal(err)
	}
	return p.now()
}

func (p *process) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, p.addr.Load().(string))
	return &cutting{Conn: c, p: p}, err
}

// cutting is a connection that breaks after a request has arrived.
type cutting struct {
	net.Conn

	p    *process
	lose atomic.Bool
}

func (c *cutting) Write(b []byte) (int, error) {
	if text := c.p.cut.Load().(string); text != "" && bytes.Contains(b, []byte(text)) && c.p.cut.CompareAndSwap(text, "") {
		c.lose.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cutting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() && n > 0 { // the reply is there, so the command took effect
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// warned returns the warnings that were logged.
func (b *buffer) warned() (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, "level=WARN") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func yes(context.Context) (bool, error) { return true, nil }
func no(context.Context) (bool, error)  { return false, nil }
func away(context.Context) (bool, error) {
	return true, errors.New("firestore is away")
}

// lost fails unless g is one with quarantine and restoring time that began after before.
func lost(t *testing.T, before, g slot.Generation) {
	t.Helper()
	switch {
	case g.Number <= before.Number:
		t.Errorf("generation %d, want one after %d", g.Number, before.Number)
	case g.QuarantineUntil == 0 || g.RestoreUntil-g.QuarantineUntil != restoring-quarantine:
		t.Errorf("quarantine until %d, restoring until %d; want both, and from the same instant", g.QuarantineUntil, g.RestoreUntil)
	}
}

// settled fails unless g has neither quarantine nor restoring time.
func settled(t *testing.T, g slot.Generation) {
	t.Helper()
	if g.Number == 0 || g.QuarantineUntil != 0 || g.RestoreUntil != 0 {
		t.Errorf("%+v, want a number and nothing else", g)
	}
}

func same(t *testing.T, want, got slot.Generation) {
	t.Helper()
	if got != want {
		t.Errorf("generation %+v, want %+v", got, want)
	}
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// foreign makes the marker that of another server, which brought that many of its fields along, and how long it lives.
func foreign(t *testing.T, rdb *redis.Client, fields int, life time.Duration) {
	t.Helper()
	parts := strings.Split(rdb.Get(t.Context(), Key).Val(), "|")
	parts[3] = "another/server"
	ok(t, rdb.Set(t.Context(), Key, strings.Join(parts[:fields], "|"), life).Err())
}

// follow makes replica a replica of s and waits until it has all.
func follow(t *testing.T, replica *redis.Client, s *redistest.Server) {
	t.Helper()
	host, port, _ := strings.Cut(s.Addr(), ":")
	ok(t, replica.ReplicaOf(t.Context(), host, port).Err())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(replica.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the replica does not follow")
		}
	}
}

// promote ends that.
func promote(t *testing.T, replica *redis.Client) {
	t.Helper()
	ok(t, replica.ReplicaOf(t.Context(), "NO", "ONE").Err())
}
