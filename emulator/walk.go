package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/emulator/walkthrough"
)

// orderOnlyDelay is how long the sample target takes where no spacing paces the lane.
const orderOnlyDelay = 50 * time.Millisecond

func walk(ctx context.Context, args []string) error {
	var f emulatorFlags
	var o walkthrough.Options
	set := flag.NewFlagSet("emulator walkthrough", flag.ContinueOnError)
	f.define(set, "127.0.0.1:0", "127.0.0.1:0")
	set.IntVar(&o.Requests, "requests", 1000, "how many requests to submit at once")
	set.DurationVar(&o.Spacing, "spacing", 20*time.Millisecond, "least time between two starts; 0s: order only")
	set.StringVar(&o.Key, "key", "", "the `key` (default: tenant-42:product-7, with a random suffix on a Redis that outlives the walkthrough)")
	if err := parse(set, args); err != nil {
		return err
	}
	if o.Requests < 1 || o.Spacing < 0 {
		return fmt.Errorf("-requests %d -spacing %s: want at least 1 request and no negative spacing", o.Requests, o.Spacing)
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	if o.Key == "" {
		o.Key = "tenant-42:product-7"
		if f.redis != "" {
			o.Key = fmt.Sprintf("%s-%08x", o.Key, rand.Uint32())
		}
	}
	if !f.verbose {
		options.Logger = nil // warnings about faults that were asked for would hide the progress
	}
	if options.Config == nil {
		options.Config = walkDocument(o.Spacing)
	}
	s, err := stack.Start(ctx, options)
	if err != nil {
		return err
	}
	report, err := walkthrough.Run(ctx, s, o, os.Stdout)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	fmt.Print(report.Table())
	return report.Err()
}

// walkDocument is the configuration of a walkthrough: one lane policy with the spacing asked for. Where nothing paces the lane,
// the target takes some time, so that there is a makespan to speak of.
func walkDocument(spacing time.Duration) func(base string) string {
	query := ""
	if spacing == 0 {
		query = "?delay=" + orderOnlyDelay.String()
	}
	return func(base string) string {
		return fmt.Sprintf("targets:\n  sample: {url: %q}\nlanes:\n  - {match: \"*\", target: sample, spacing: %s}\n", base+"/sample"+query, spacing)
	}
}
