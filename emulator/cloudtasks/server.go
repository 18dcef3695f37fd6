package cloudtasks

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/genproto/googleapis/cloud/location"
	"google.golang.org/grpc"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const (
	// maxMessage bounds one gRPC message: a batch of tasks needs more than
	// gRPC's own 4 MiB.
	maxMessage = 32 << 20
	// maxStreams bounds the calls at once on one connection.
	maxStreams = 10000
)

// Options of a [Server]; the zero value listens on a free port, without queues
// and without faults.
type Options struct {
	// Addr is the address to listen on, which must be a loopback one.
	// Defaults to 127.0.0.1:0, a free port.
	Addr string
	// Queues exist from the start. Only the name is needed; where a field is
	// zero the service's default holds (500/s, burst 100, 1000 at once, 100
	// attempts, back-off 0.1 s to 1 h, 16 doublings). A burst that is set is
	// taken.
	Queues []*cloudtaskspb.Queue
	// Faults can be changed later with [Server.SetFaults].
	Faults Faults
	// Seed decides faults and generated task IDs.
	Seed uint64
	// NameReuse is how long the name of a task that is gone stays taken.
	// Defaults to 24 h.
	NameReuse time.Duration
	// QueueTombstone is how long the name of a deleted queue stays taken.
	// Defaults to 7 days.
	QueueTombstone time.Duration
	// AppEngineURL is the base URL to which App Engine tasks go.
	// Defaults to none: they are refused.
	AppEngineURL string
	// Issuer is the "iss" of OIDC tokens.
	// Defaults to the server's own URL, where discovery and keys are served.
	Issuer string
	// Clock defaults to the system's.
	Clock Clock
	// Logger defaults to slog's default.
	Logger *slog.Logger
}

// Stats counts what a [Server] did.
type Stats struct {
	engine.Stats
	Calls map[string]int64 // of API methods, by their short name
}

// Server is a running emulator. Its methods are safe for concurrent use.
type Server struct {
	listener    net.Listener
	http        *http.Server
	grpc        *grpc.Server
	runner      *runner
	sender      *sender
	interceptor *interceptor
	logger      *slog.Logger

	serving sync.WaitGroup
	closing sync.Once
}

// Start listens and serves until ctx ends or [Server.Close]. It fails when the
// address is not a loopback one or is taken, and when a queue is refused.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	e := engine.New(engine.Options{
		Seed: o.Seed, Faults: o.Faults, NameReuse: o.NameReuse, QueueTombstone: o.QueueTombstone, AppEngineURL: o.AppEngineURL,
	})
	for _, q := range o.Queues {
		if _, err := e.AddQueue(o.Clock.Now(), q); err != nil {
			return nil, fmt.Errorf("add queue %q: %w", q.GetName(), err)
		}
	}
	listener, err := listen(ctx, o.Addr)
	if err != nil {
		return nil, err
	}
	if o.Issuer == "" {
		o.Issuer = "http://" + listener.Addr().String()
	}
	s, err := newServer(listener, e, o)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); err != http.ErrServerClosed {
			s.logger.Error("the Cloud Tasks emulator stopped serving", "error", err)
		}
	})
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// listen refuses addresses that others than this machine can reach.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("listen on %q: not a loopback address, use 127.0.0.1:PORT", addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", resolved.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", addr, err)
	}
	return listener, nil
}

func newServer(listener net.Listener, e *engine.Engine, o Options) (*Server, error) {
	tokens := newTokens(o.Issuer, o.Clock.Now)
	sender := newSender(tokens)
	runner := newRunner(e, o.Clock, sender)
	interceptor := &interceptor{runner: runner, logger: o.Logger, calls: map[string]int64{}}
	server := &Server{
		listener: listener, runner: runner, sender: sender, interceptor: interceptor, logger: o.Logger,
		grpc: newGRPC(runner, interceptor),
	}
	rest, err := newREST(server.grpc)
	if err != nil {
		return nil, fmt.Errorf("set up the REST API: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+discoveryPath, tokens.serveDiscovery)
	mux.HandleFunc("GET "+keysPath, tokens.serveKeys)
	mux.Handle("/faults", server.FaultsHandler())
	mux.Handle("/", rest)
	server.http = newHTTP(guard(route(server.grpc, mux)), o.Logger)
	return server, nil
}

func newGRPC(runner *runner, i *interceptor) *grpc.Server {
	server := grpc.NewServer(grpc.UnaryInterceptor(i.unary), grpc.MaxRecvMsgSize(maxMessage))
	operations := newOperations()
	cloudtaskspb.RegisterCloudTasksServer(server, &service{runner: runner, operations: operations, cmek: encryption{key: map[string]string{}}})
	longrunningpb.RegisterOperationsServer(server, operations)
	location.RegisterLocationsServer(server, &locations{runner: runner})
	return server
}

// newHTTP serves HTTP/1 and HTTP/2 without TLS on one port.
func newHTTP(h http.Handler, logger *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// route sends gRPC straight to its server and all else to rest.
func route(grpcServer *grpc.Server, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			grpcServer.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// Addr is the host and port that the server listens on, for gRPC and HTTP.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	stats := Stats{Calls: s.interceptor.counts()}
	s.runner.do(func(e *engine.Engine, _ time.Time) { stats.Stats = e.Stats() })
	return stats
}

// Faults returns the faults in force.
func (s *Server) Faults() (f Faults) {
	s.runner.do(func(e *engine.Engine, _ time.Time) { f = e.Faults() })
	return f
}

// SetFaults replaces the faults and thaws frozen queues.
func (s *Server) SetFaults(f Faults) {
	s.runner.do(func(e *engine.Engine, _ time.Time) { e.SetFaults(f) })
}

// Settle returns when what can start now has started and no attempt is in
// flight, or with ctx's error. With a [ManualClock] that is when only moving the
// clock makes more happen.
func (s *Server) Settle(ctx context.Context) error { return s.runner.settle(ctx) }

// Close stops the server: calls and attempts in flight are cancelled, tasks
// are forgotten. It returns when all has ended; more calls do nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		_ = s.http.Close() // its connections end, whatever it says
		s.grpc.Stop()
		s.runner.close()
		s.sender.close()
		s.serving.Wait()
	})
}
