// Package stack runs the whole of Seriatim in one process: both functions, Redis, the Cloud Tasks emulator and a sample target.
// The emulator's main, the walkthrough and end-to-end tests start it.
package stack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/console"
	"github.com/seriatim/seriatim/emulator/sample"
	"github.com/seriatim/seriatim/shared/bundle"
	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/target"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Queue is the name of the one queue.
const Queue = "projects/local/locations/local/queues/seriatim"

// Database is the database that the records of durable lanes are in, where Options.Firestore says that there is one.
const Database = "projects/seriatim-local/databases/(default)"

// Options of a Stack. The zero value serves on free ports with an embedded Redis and the built-in configuration.
type Options struct {
	// Addr and TasksAddr are loopback addresses to listen on. Default: 127.0.0.1:0, a free port.
	Addr, TasksAddr string
	// Config makes the configuration document, given the base URL of the Stack.
	// Default: DefaultConfig.
	Config func(base string) string
	// Lookup reads the {env: NAME} of Config which Start does not set itself: os.LookupEnv, or a map in a test.
	// Default: none is set.
	Lookup func(string) (string, bool)
	// Redis is the URL of a server.
	// Default: an embedded one that dies with the Stack.
	Redis string
	// Firestore is the host:port of a Firestore emulator for the records of durable lanes.
	// Default: they are in memory, and die with the Stack.
	Firestore string
	// Instances is how many instances of each function take the requests in turn, each with connections of its own.
	// Default: 1.
	Instances int
	// Faults and Seed are those of the Cloud Tasks emulator.
	Faults cloudtasks.Faults
	Seed   uint64
	// Functions are Go functions to use as targets.
	Functions *target.Set
	// Logger takes the log lines of functions and emulator.
	// Default: none are written.
	Logger *slog.Logger
}

// Stack is a running emulator. It is safe for concurrent use.
type Stack struct {
	// URL is where ingest, executor and sample target listen; TasksAddr the address of the Cloud Tasks API.
	URL, TasksAddr string
	// Sample is the sample target.
	Sample *sample.Target
	// Tasks is the Cloud Tasks emulator.
	Tasks *cloudtasks.Server
	// Parts are those of the instances.
	Parts []*bundle.Parts
	// Journal is told of every transition of every lane.
	Journal *console.Journal

	options  Options
	counts   counts
	listener net.Listener
	server   *http.Server
	redis    *embedded
	stop     chan struct{}
	sweeper  sync.WaitGroup
}

// DefaultConfig is the document used where none is given: every key, one second apart, to the sample target of the Stack at
// base, whose list of what it got is the origin to read from.
func DefaultConfig(base string) string {
	return fmt.Sprintf("targets:\n  sample: {url: %[1]q}\nlanes:\n  - {match: \"*\", target: sample, spacing: 1s}\norigins:\n  sample: {url: %[1]q}\n",
		base+"/sample")
}

// Start runs a Stack until Close. In the configuration, {env: SAMPLE_URL} is the sample target's URL.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	s := &Stack{options: o, Sample: &sample.Target{}, Journal: &console.Journal{}, stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.listener, err = listen(ctx, o.Addr); err != nil {
		return nil, err
	}
	s.URL = "http://" + s.listener.Addr().String()
	if s.Tasks, err = cloudtasks.Start(ctx, cloudtasks.Options{
		Addr: o.TasksAddr, Queues: []*cloudtaskspb.Queue{QueueConfig()}, Faults: o.Faults, Seed: o.Seed, Logger: s.logger(),
	}); err != nil {
		return nil, fmt.Errorf("start the Cloud Tasks emulator: %w (if another program has the port: choose one with -tasks-addr, :0 picks a free one)", err)
	}
	s.TasksAddr = s.Tasks.Addr()
	if o.Redis == "" {
		if s.redis, err = startEmbedded(); err != nil {
			return nil, err
		}
		s.options.Redis = s.redis.url()
	}
	if err = s.open(ctx); err != nil {
		return nil, err
	}
	s.server = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(s.listener) }()
	s.sweeper.Go(s.sweep)
	return s, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (if another program has the port: choose one with -addr, :0 picks a free one)", addr, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen on %s: the emulator serves loopback addresses only, give 127.0.0.1:PORT", addr), l.Close())
	}
	return l, nil
}

// QueueConfig is the queue as Terraform makes it: unlimited attempts, since a finite limit deletes the head and blocks its lane.
func QueueConfig() *cloudtaskspb.Queue {
	return &cloudtaskspb.Queue{
		Name:       Queue,
		RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 500, MaxConcurrentDispatches: 1000},
		RetryConfig: &cloudtaskspb.RetryConfig{
			MaxAttempts: -1, MinBackoff: durationpb.New(time.Second), MaxBackoff: durationpb.New(10 * time.Second), MaxDoublings: 4,
		},
	}
}

// open makes the instances from an environment, as in the cloud.
func (s *Stack) open(ctx context.Context) error {
	var key [32]byte
	_, _ = rand.Read(key[:])
	if s.options.Config == nil {
		s.options.Config = DefaultConfig
	}
	environment := map[string]string{
		"SERIATIM_CONFIG": s.options.Config(s.URL), "SERIATIM_REDIS_URL": s.options.Redis, "SERIATIM_QUEUE": Queue,
		"SERIATIM_EXECUTOR_URL": s.URL + "/executor", "SERIATIM_ENVELOPE_KEY": hex.EncodeToString(key[:]),
		"SERIATIM_TASKS_ENDPOINT": s.TasksAddr, "SERIATIM_AUTH": "off", "SAMPLE_URL": s.URL + "/sample",
	}
	if s.options.Firestore != "" {
		environment["SERIATIM_FIRESTORE"], environment["FIRESTORE_EMULATOR_HOST"] = Database, s.options.Firestore
	}
	c, err := bundle.FromEnv(func(name string) (string, bool) {
		value, ok := environment[name]
		if ok || s.options.Lookup == nil || reserved(name) {
			return value, ok
		}
		return s.options.Lookup(name)
	})
	if err != nil {
		return err
	}
	if c.Firestore == nil {
		c.Records, c.Marks = record.NewMemory(time.Now), marks.NewMemory(time.Now)
	}
	if err := install(ctx, c); err != nil {
		return err
	}
	functions := s.options.Functions
	if functions == nil {
		functions = &target.Set{}
	}
	for range max(1, s.options.Instances) {
		p, err := bundle.Open(ctx, c, functions)
		if err != nil {
			return err
		}
		if _, _, err := p.Records.Lookup(ctx, "reachable", "reachable"); err != nil {
			return errors.Join(fmt.Errorf("read from the Firestore emulator at %s: %w (start it there, or leave -firestore out)", s.options.Firestore, err), p.Close())
		}
		p.Redis.AddHook(&s.counts)
		p.Runner.Slots = s.Journal.Runs(p.Slots)
		s.Parts = append(s.Parts, p)
	}
	return nil
}

// reserved says whether the functions read the variable themselves. What a developer has set of these, for another Redis or
// another Firestore, must not reach the emulator.
func reserved(name string) bool {
	return strings.HasPrefix(name, "SERIATIM_") || name == "FIRESTORE_EMULATOR_HOST" || name == "K_SERVICE"
}

// install begins a generation of Redis without quarantine: nothing that an earlier Stack started can still run. What it has left
// in Firestore counts.
func install(ctx context.Context, c bundle.Config) error {
	rdb, err := redisconn.Open(c.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	if c.Firestore == nil {
		return generation.Install(ctx, rdb, nil)
	}
	conn := firestoreconn.New(*c.Firestore)
	defer conn.Close()
	life := generation.NewFirestore(conn)
	return generation.Install(ctx, rdb, func(ctx context.Context) (bool, error) {
		first, err := life.First(ctx)
		if err != nil {
			err = fmt.Errorf("write to the Firestore emulator at %s: %w (start it there, or leave -firestore out)", c.Firestore.Emulator, err)
		}
		return first, err
	})
}

// Close ends everything that Start began: first what calls, then what is called.
func (s *Stack) Close() error {
	var errs []error
	close(s.stop)
	s.sweeper.Wait()
	if s.Tasks != nil {
		s.Tasks.Close()
	}
	if s.server != nil {
		errs = append(errs, s.server.Close())
	} else if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for _, p := range s.Parts {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		errs = append(errs, p.Drain.Close(ctx), p.Close())
		cancel()
	}
	if s.redis != nil {
		s.redis.close()
	}
	return errors.Join(errs...)
}

// sweepEvery is how often Cloud Scheduler has the executor sweep.
const sweepEvery = time.Minute

// sweep is the Stack's Cloud Scheduler.
func (s *Stack) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			if resp, err := http.Post(s.URL+"/executor/sweep", "", nil); err == nil { //nolint:noctx // it ends with the server
				_ = resp.Body.Close()
			}
		}
	}
}

func (s *Stack) logger() *slog.Logger {
	if s.options.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.options.Logger
}
