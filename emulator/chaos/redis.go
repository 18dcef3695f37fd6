package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// store is a Redis with a replica behind an address that stays, as Memorystore's standard tier is one.
type store struct {
	dir    string
	binary string
	front  *proxy // between the functions and the master
	link   *proxy // between the replica and the master

	// mu is held through every fault: one at a time.
	mu              sync.Mutex
	master, replica *server
	servers         int
}

// server is one redis-server, which keeps nothing on disk.
type server struct {
	*process
	port   int
	client *redis.Client
}

func openStore(ctx context.Context, dir, binary string) (*store, error) {
	s := &store{dir: dir, binary: binary}
	var err error
	if s.front, err = newProxy(ctx, ""); err != nil {
		return nil, err
	}
	if s.link, err = newProxy(ctx, ""); err != nil {
		return nil, err
	}
	return s, s.fresh(ctx)
}

// fresh starts an empty pair. Nobody is let in before the replica follows: a server takes another identity when its first replica
// ever connects, which would count as a second loss.
func (s *store) fresh(ctx context.Context) (err error) {
	if s.master, err = s.launch(ctx); err != nil {
		return err
	}
	if err := s.attach(ctx); err != nil {
		return err
	}
	if err := s.synced(ctx); err != nil {
		return err
	}
	s.front.point(local(s.master.port))
	return nil
}

// attach starts a replica of the master.
func (s *store) attach(ctx context.Context) (err error) {
	s.link.point(local(s.master.port))
	s.replica, err = s.launch(ctx, "--replicaof", "127.0.0.1", strconv.Itoa(s.link.port()))
	return err
}

func (s *store) launch(ctx context.Context, args ...string) (*server, error) {
	ctx = context.WithoutCancel(ctx) // what a fault has begun it ends
	made := &server{}
	s.servers++
	name := fmt.Sprintf("redis-%d", s.servers)
	// A replica leaves what it got from its master in its directory, also with --save "": another server would begin with that.
	data := filepath.Join(s.dir, name)
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	err := onFreePort(func(port int) (err error) {
		made.port = port
		made.process, err = launch(ctx, s.dir, name, port, nil, s.binary, append([]string{
			"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
			"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--dir", data,
		}, args...)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	made.client = redis.NewClient(&redis.Options{Addr: local(made.port), PoolSize: 2, DisableIdentity: true})
	return made, nil
}

func (r *server) end() {
	if r == nil || r.process == nil {
		return
	}
	r.kill()
	if r.client != nil {
		_ = r.client.Close()
	}
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front.close()
	s.link.close()
	s.master.end()
	s.replica.end()
}

// syncTimeout is how long a replica may take to follow its master.
const syncTimeout = 20 * time.Second

// synced waits until the replica follows the master.
func (s *store) synced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncTimeout)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		info, err := s.replica.client.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the replica does not follow: %w", ctx.Err())
		}
	}
}

// failover has the replica lag for a while, kills the master, and makes the replica master after an outage: what was written during
// the lag is lost. It returns when the lag began and when the master died.
func (s *store) failover(ctx context.Context, lag, outage time.Duration) (from, at time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = s.synced(ctx); err != nil {
		return from, at, err
	}
	from = time.Now()
	release := s.link.stall()
	defer release()
	pause(ctx, lag)
	at = time.Now()
	s.master.end()
	s.front.point("")
	s.link.point("") // what it held is lost
	release()
	pause(ctx, outage)
	if err = s.replica.client.ReplicaOf(context.WithoutCancel(ctx), "NO", "ONE").Err(); err != nil {
		return from, at, fmt.Errorf("promote the replica: %w", err)
	}
	s.master, s.replica = s.replica, nil
	s.front.point(local(s.master.port))
	return from, at, s.attach(ctx)
}

// crash kills the pair and starts an empty one after an outage.
func (s *store) crash(ctx context.Context, outage time.Duration) (at time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = time.Now()
	s.master.end()
	s.front.point("")
	s.replica.end()
	pause(ctx, outage)
	return at, s.fresh(ctx)
}

// do has the master carry something out.
func (s *store) do(ctx context.Context, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.master.client.Do(context.WithoutCancel(ctx), args...).Err(); err != nil {
		return fmt.Errorf("redis %v: %w", args[0], err)
	}
	return nil
}

// during holds the store against other faults for a while, between begin and end.
func (s *store) during(ctx context.Context, d time.Duration, begin, end func(*server) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := begin(s.master); err != nil {
		return err
	}
	pause(ctx, d)
	return end(s.master)
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
