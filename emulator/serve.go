package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/logging"
)

// emulatorFlags are those that serving and the walkthrough share.
type emulatorFlags struct {
	addr, tasksAddr, config, redis, firestore, faults string
	seed                                              uint64
	verbose                                           bool
}

func (f *emulatorFlags) define(set *flag.FlagSet, addr, tasksAddr string) {
	set.StringVar(&f.addr, "addr", addr, "loopback `address` of the functions; :0 picks a free port")
	set.StringVar(&f.tasksAddr, "tasks-addr", tasksAddr, "loopback `address` of the Cloud Tasks API; :0 picks a free port")
	set.StringVar(&f.config, "config", "", "configuration `file`; {env: NAME} in it is read from the environment, {env: SAMPLE_URL} is the sample target")
	set.StringVar(&f.redis, "redis", "", "`URL` of a Redis server (default: embedded)")
	set.StringVar(&f.firestore, "firestore", "", "`host:port` of a Firestore emulator for the records of durable lanes (default: in memory)")
	set.StringVar(&f.faults, "faults", "", "faults of Cloud Tasks, such as late=0.002:30s-180s,jitter=20ms-200ms,duplicate=0.01,lose-reply=0.01,error=0.01")
	set.Uint64Var(&f.seed, "seed", 1, "seed of the faults")
	set.BoolVar(&f.verbose, "v", false, "write the log lines of functions and queue to standard error")
}

// options reads the flags into options of a Stack.
func (f *emulatorFlags) options() (stack.Options, error) {
	o := stack.Options{
		Addr: loopback(f.addr), TasksAddr: loopback(f.tasksAddr), Redis: f.redis, Firestore: f.firestore, Seed: f.seed, Lookup: os.LookupEnv,
		// What needs a person's eye is shown anyway.
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	var err error
	if o.Faults, err = cloudtasks.ParseFaults(f.faults); err != nil {
		return o, fmt.Errorf("-faults: %w", err)
	}
	if f.config != "" {
		document, err := os.ReadFile(f.config)
		if err != nil {
			return o, fmt.Errorf("-config: %w", err)
		}
		o.Config = func(string) string { return string(document) }
	}
	if f.verbose {
		o.Logger = logging.New(os.Stderr, "")
	}
	return o, nil
}

// loopback completes an address without a host, such as ":0".
func loopback(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// usage is what -h says before the flags of serving.
const usage = `Usage:
  emulator [flags]              serve until interrupted
  emulator walkthrough [flags]  submit a thousand requests under one key and check every promise
  emulator chaos [flags]        kill processes and empty Redis for a while, and check every promise
  emulator compare [flags]      set Seriatim beside a queue per key, a lock and the article's slots
A command's own flags: emulator COMMAND -h. Flags of serving:
`

func serve(ctx context.Context, args []string) error {
	var f emulatorFlags
	set := flag.NewFlagSet("emulator", flag.ContinueOnError)
	f.define(set, "127.0.0.1:8080", "127.0.0.1:8123")
	tasksOnly := set.Bool("tasks-only", false, "serve just the Cloud Tasks API")
	set.Usage = func() {
		fmt.Fprint(set.Output(), usage)
		set.PrintDefaults()
	}
	if err := parse(set, args); err != nil {
		return err
	}
	if *tasksOnly {
		return serveTasks(ctx, f)
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, o)
	if err != nil {
		return err
	}
	announce(s, o.Config == nil)
	<-ctx.Done()
	return s.Close()
}

// serveTasks serves the Cloud Tasks emulator alone, for programs that have nothing to do with Seriatim.
func serveTasks(ctx context.Context, f emulatorFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	server, err := cloudtasks.Start(ctx, cloudtasks.Options{
		Addr: o.TasksAddr, Queues: []*cloudtaskspb.Queue{stack.QueueConfig()}, Faults: o.Faults, Seed: f.seed, Logger: o.Logger,
	})
	if err != nil {
		return fmt.Errorf("start the Cloud Tasks emulator: %w", err)
	}
	fmt.Printf("Cloud Tasks    %s  (gRPC and REST, queue %s)\n", server.Addr(), stack.Queue)
	fmt.Printf("faults         http://%s/faults\n", server.Addr())
	fmt.Printf("\ntry:  curl http://%s/v2/%s\n", server.Addr(), stack.Queue)
	<-ctx.Done()
	server.Close()
	return nil
}

func parse(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return flag.ErrHelp // the flag set has said what is wrong
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: commands are walkthrough, compare and chaos, all else are flags (see -h)", set.Arg(0))
	}
	return nil
}

func announce(s *stack.Stack, builtIn bool) {
	fmt.Printf("ingest         %s/v1/\n", s.URL)
	fmt.Printf("executor       %s/executor\n", s.URL)
	fmt.Printf("sample target  %s/sample\n", s.URL)
	fmt.Printf("console        %s/console/\n", s.URL)
	fmt.Printf("stats, faults  %s/console/api/stats, %s/console/api/faults\n", s.URL, s.URL)
	fmt.Printf("Cloud Tasks    %s  (queue %s)\n", s.TasksAddr, stack.Queue)
	if builtIn {
		fmt.Printf("\nconfiguration (built in; -config FILE takes another):\n\n%s", stack.DefaultConfig(s.URL))
	}
	fmt.Printf("\ntry:  curl -i -d hello %s/v1/lanes/tenant-42:product-7/requests\n", s.URL)
}
