package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// Run has real processes go through faults, and checks every promise from outside. The error is of the run, not of a promise: those
// are in the report. When it returns no process that it has started is left, also when ctx has ended.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	dir, temporary := o.Dir, false
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "chaos-"); err != nil {
			return nil, err
		}
		temporary = true
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r, err := run(ctx, o, dir)
	if temporary && err == nil && len(r.Violations) == 0 {
		return r, os.RemoveAll(dir)
	}
	if r != nil {
		r.Dir = dir
	}
	return r, err
}

func run(ctx context.Context, o Options, dir string) (*Report, error) {
	file, err := os.Create(filepath.Join(dir, "faults.log"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &world{ctx: ctx, options: o, dir: dir, log: &journal{began: time.Now(), out: io.MultiWriter(file, o.Out)}}
	if err := w.open(); err != nil {
		return nil, err
	}
	defer w.close()
	i := w.chaos()
	if err := errors.Join(append(i.errs, ctx.Err())...); err != nil {
		return nil, err
	}
	w.say("no more faults, no more requests: waiting for what waits")
	settled := w.settle()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return w.report(i, settled), nil
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.options.Out, "%s %s\n", w.log.at(time.Now()), fmt.Sprintf(format, args...))
}

// chaos has requests arrive and faults happen, and returns when both have ended.
func (w *world) chaos() *injector {
	load, cancel := context.WithTimeout(w.ctx, w.options.For)
	defer cancel()
	i := &injector{world: w, dice: newDice(w.options.Seed, 4), kinds: named(w.options.Faults), every: w.options.Every, counts: map[string]int{}}
	if cards := len(i.kinds); i.every == 0 && cards > 0 {
		i.every = min(w.options.For/time.Duration(cards+1), 3*time.Second)
	}
	w.target.setFinal(func(c *call) { w.clients.going.Go(func() { w.operator.redrive(w.ctx, c) }) })
	lanes := allLanes()
	var shares float64
	for _, l := range lanes {
		shares += l.share
	}
	var going sync.WaitGroup
	for _, l := range lanes {
		every := time.Duration(float64(time.Second) * shares / (w.options.Rate * l.share))
		going.Go(func() { w.clients.arrive(w.ctx, load, l, every) })
	}
	if w.options.Hold {
		going.Go(func() { w.operator.holds(load, lanes) })
	}
	w.clients.going.Go(func() { w.operator.cancels(load) })
	go w.sweep(w.ctx)
	going.Go(func() { i.run(load) })
	going.Wait()
	w.target.heal()
	w.target.setFinal(nil) // what is dead now stays dead
	return i
}
