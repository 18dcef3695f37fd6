// Command emulator runs Seriatim on a laptop, with no other software and no cloud account.
//
//	go run ./emulator              serves until interrupted
//	go run ./emulator walkthrough  submits a thousand requests under one key and checks every promise
//	go run ./emulator chaos        kills processes and empties Redis for a while, and checks every promise
//	go run ./emulator journal      replays the answer of GET /v1/lanes/{key}/journal that it reads from the standard input
//	go run ./emulator compare      sets Seriatim beside a queue per key, a lock and the article's slots
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/seriatim/seriatim/emulator/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "emulator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "walkthrough":
			return walk(ctx, args[1:])
		case "journal":
			return showJournal(os.Stdin, os.Stdout)
		case "compare":
			return runCompare(args[1:])
		case "chaos":
			return runChaos(ctx, args[1:])
		case chaos.Command:
			return chaos.Serve()
		}
	}
	return serve(ctx, args)
}
