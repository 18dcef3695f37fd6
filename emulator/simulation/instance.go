package simulation

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/functions/executor"
	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// instance is one process of a function. It is its own clock.Clock and clock.Random.
type instance struct {
	world    *World
	kind     string
	name     string
	dead     atomic.Bool
	blind    atomic.Int64 // when a read of the paused targets failed last, in Unix nanoseconds
	adopted  sync.Map     // ids of requests, kept for a defect
	hub      *slot.Hub
	targets  *slot.PausedTargets // nil where nobody pauses any
	redis    *redis.Client       // for what is no script, nil where there is no such thing
	tracker  *generation.Tracker // nil where Redis is never lost
	linked   atomic.Int64        // the server that its connections reach
	ready    chan struct{}       // closed once the paused targets have been read, nil where there are none
	restored atomic.Int64        // the generation for which the paused targets are back
	kept     *lane.Marks
	ingest   *ingest.Handler
	executor *executor.Executor

	mu     sync.Mutex
	paused time.Time     // until then
	behind time.Duration // how far the clock lags, by a defect
}

// boot starts an instance; w.mu is held, or the world is not running yet.
func (w *World) boot(kind string) *instance {
	w.made++
	in := &instance{world: w, kind: kind, name: fmt.Sprintf("%s-%d", kind, w.made)}
	slots := &slots{in}
	in.hub = slot.NewHubOn(func() slot.PubSub { return w.wakes.subscribe(in) })
	client, err := taskqueue.New(context.Background(), queueConfig, taskqueue.WithService(&service{in}), taskqueue.WithClock(in),
		taskqueue.WithRandom(func() float64 { return in.Jitter(0.5) - 0.5 }))
	if err != nil {
		panic(err)
	}
	if w.Operator || w.Faults.Loss > 0 {
		in.redis = newClient(in)
		in.targets = slot.NewPausedTargets(in.redis, in.Now)
	}
	if w.Faults.Loss > 0 {
		in.track()
		in.kept, in.targets.Lasting = lane.NewMarks(&marked{in}, slots), &marked{in}
	}
	if in.targets != nil {
		in.ready = make(chan struct{})
		defer func() {
			go func() {
				defer close(in.ready)
				_, _ = in.targets.List(w.ctx)
			}()
		}()
	}
	targets := &target.Set{}
	if err := targets.Add("work", &work{in}); err != nil {
		panic(err)
	}
	runner := &lane.Runner{Slots: slots, Targets: targets, Clock: in, Random: in}
	tasks := lane.Tasks{Queue: client, Kicks: slots, Marks: in.kept, Clock: in, Random: in}
	store := lane.Records{Store: &records{in}, Slots: slots, Queue: client, Clock: in}
	if in.redis != nil {
		store.Dead = slot.NewDeadLetters(in.redis)
	}
	runner.Decider = &lane.Decider{Slots: slots, Records: store}
	exchange := func(context.Context, string) error { return nil }
	doc := w.document()
	if kind == "ingest" {
		in.ingest = ingest.New(ingest.Config{
			Policy: doc, Slots: slots, Inspector: slots, Steering: slots, Records: store, Runner: runner, Tasks: tasks, Bodies: client,
			PausedTargets: in.targets, Ends: in.hub, Exchange: exchange, Drain: &shutdown.Drain{}, Clock: in, Random: in,
		})
		return in
	}
	in.executor = executor.New(executor.Config{
		Policy: doc, Slots: slots, Holes: slots, Inspector: slots, Queue: client, Opener: queueConfig.Keys, Records: store,
		Wakes: in.hub, Runner: runner, Tasks: tasks, CountMissing: func(context.Context) (bool, error) { return true, nil }, Exchange: exchange,
		Lanes:   func(context.Context) ([]string, error) { return w.laneKeys(), nil },
		Observe: func(e executor.Event) { w.count(string(e)) }, Drain: &shutdown.Drain{}, Clock: in, Random: in,
	})
	return in
}

// enter holds a call until the instance has read the paused targets for the first time: all that come meanwhile wait for that, and
// must not go on at one instant.
func (in *instance) enter(about string) {
	if in.ready == nil {
		return
	}
	select {
	case <-in.ready:
	default:
		<-in.ready
		r := in.world.dice.roll("enters", about)
		time.Sleep(r.span(time.Nanosecond, 100*time.Microsecond))
	}
}

// alive ends the goroutine of a dead instance, and holds that of a paused one. When a pause ends, each goes on at an instant of
// its own.
func (in *instance) alive(about string) {
	for {
		if in.dead.Load() {
			runtime.Goexit()
		}
		wait := in.pause()
		if wait <= 0 {
			return
		}
		r := in.world.dice.roll("goes on", about)
		time.Sleep(wait + r.span(0, 2*time.Millisecond))
	}
}

func (in *instance) pause() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return time.Until(in.paused)
}

// stoodSince says whether the instance has stood still after t.
func (in *instance) stoodSince(t time.Time) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.paused.After(t)
}

// recovers is how long an instance works between two pauses, at least: one that hardly works at all would be replaced.
const recovers = 20 * time.Second

// trouble may crash or pause the instance at an arrow.
func (in *instance) trouble(about string) {
	w, f := in.world, in.world.faults()
	if w.strike("crash "+in.name, about, f.Crash) {
		in.crash()
	}
	if in.pause() < -recovers && w.strike("pause "+in.name, about, f.Pause) {
		r := w.dice.roll("pause for", in.name)
		in.mu.Lock()
		in.paused = time.Now().Add(r.span(time.Second, 8*w.Lease))
		in.mu.Unlock()
	}
	in.alive(about)
}

// crash ends the instance and boots another in its place.
func (in *instance) crash() {
	if in.dead.Swap(true) {
		return
	}
	in.world.wakes.drop(in)
	w := in.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	for _, list := range [][]*instance{w.ingests, w.executors} {
		for i := range list {
			if list[i] == in {
				list[i] = w.boot(in.kind)
			}
		}
	}
}

// pick draws the instance that takes a call.
func (w *World) pick(list *[]*instance, about string) *instance {
	r := w.dice.roll("instance", about)
	w.mu.Lock()
	defer w.mu.Unlock()
	return (*list)[r.intn(len(*list))]
}

// pass lets d go by, or less when ctx is done; then the error is its cause.
func pass(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Now returns the virtual time.
func (in *instance) Now() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return time.Now().Add(-in.behind)
}

// After fires once d has passed and the instance stands still no more. It never fires at once: where a wake-up is there too, a
// select would choose between them at random.
func (in *instance) After(d time.Duration) (<-chan time.Time, func()) {
	fired := make(chan time.Time, 1)
	r := in.world.dice.at("timer", in.name)
	timer := time.AfterFunc(max(d, 1), func() {
		if wait := in.pause(); wait > 0 && !in.dead.Load() {
			time.Sleep(wait + r.span(0, 2*time.Millisecond))
		}
		fired <- time.Now()
	})
	return fired, func() { timer.Stop() }
}

// Sleep is that of taskqueue.Clock.
func (in *instance) Sleep(ctx context.Context, d time.Duration) error { return pass(ctx, d) }

// Go starts f a moment later, so that it shares no instant with its starter.
func (in *instance) Go(f func()) {
	r := in.world.dice.roll("go", in.name)
	go func() {
		time.Sleep(r.span(time.Microsecond, 50*time.Microsecond))
		f()
	}()
}

// Nonce is unique in the world.
func (in *instance) Nonce() string {
	if in.world.has(OwnerShared) && in.kind == "executor" {
		return in.name
	}
	r := in.world.dice.roll("nonce", in.name)
	return r.nonce()[:26]
}

// Jitter depends on the instant alone: waiters that a wake-up reaches together draw the same, in whichever order.
func (in *instance) Jitter(spread float64) float64 {
	r := in.world.dice.at("jitter", in.name)
	return 1 + spread*(2*r.float()-1)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
