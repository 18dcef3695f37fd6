package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/seriatim/seriatim/emulator/chaos"
)

// runChaos has real processes go through faults, and checks every promise from outside.
func runChaos(ctx context.Context, args []string) error {
	var o chaos.Options
	set := flag.NewFlagSet("emulator chaos", flag.ContinueOnError)
	set.DurationVar(&o.For, "for", 0, "how long requests arrive and faults happen (default 30s)")
	set.Uint64Var(&o.Seed, "seed", 1, "seed of faults and requests")
	out := set.String("out", "", "`file` for the report as JSON")
	set.StringVar(&o.Dir, "dir", "", "`directory` for the lines of all processes (default: a temporary one, kept when a promise is broken)")
	set.BoolVar(&o.Lines, "lines", false, "have the functions log every transition")
	set.Float64Var(&o.Rate, "rate", 0, "requests a second, over all lanes (default 40)")
	set.DurationVar(&o.Every, "every", 0, "mean time between two faults (default: one of each kind within -for, at most 3s)")
	set.BoolVar(&o.Hold, "hold", false, "pause lanes, too; after a loss of Redis these may need a quarter of an hour, so give a longer -drain")
	set.DurationVar(&o.Drain, "drain", 0, "longest time without an end while requests still wait, when all is calm (default 5m)")
	only := set.String("faults", "", "comma-separated begins of the names of faults, such as \"kill,redis failover\" (default: all)")
	if err := parse(set, args); err != nil {
		return err
	}
	if *only != "" {
		o.Faults = strings.Split(*only, ",")
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the emulator's own program, which the functions run: %w", err)
	}
	o.Program, o.Out = []string{program}, os.Stdout
	report, err := chaos.Run(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(report.Table())
	if *out != "" {
		if err := report.Write(*out); err != nil {
			return err
		}
	}
	return report.Err()
}
