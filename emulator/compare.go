package main

import (
	"flag"
	"fmt"
	"testing"

	"github.com/seriatim/seriatim/emulator/compare"
)

// runCompare prints the comparison, and writes it where it is told to.
func runCompare(args []string) error {
	set := flag.NewFlagSet("emulator compare", flag.ContinueOnError)
	seed := set.Uint64("seed", 1, "seed of arrivals, latencies and late dispatches")
	out := set.String("out", "", "`directory` for the table, its figures as JSON, and pictures as SVG")
	if err := parse(set, args); err != nil {
		return err
	}
	report, err := compare.Run(tester(), *seed)
	if err != nil {
		return err
	}
	fmt.Print(report.Table())
	if *out == "" {
		return nil
	}
	return report.Write(*out)
}

// tester is what testing/synctest asks for: only there does Go let the product's own code, with its goroutines, channels and
// contexts, run on a virtual clock. Outside of "go test", testing.Main makes one; its test never ends, since Main would then end
// the program.
func tester() *testing.T {
	made := make(chan *testing.T)
	match := func(string, string) (bool, error) { return true, nil }
	go testing.Main(match, []testing.InternalTest{{Name: "compare", F: func(t *testing.T) {
		made <- t
		select {}
	}}}, nil, nil)
	return <-made
}
