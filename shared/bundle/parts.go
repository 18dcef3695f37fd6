package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/concurrency"
	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/shutdown"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Parts is one instance of a function, ready to be wired. It is safe for concurrent use.
type Parts struct {
	Config Config
	Redis  *redis.Client
	// Generation is that of Redis.
	Generation *generation.Tracker
	Slots      *slot.Store
	Intervals  *slot.Intervals
	// PausedTargets are the targets against which nothing starts.
	PausedTargets *slot.PausedTargets
	Hub           *slot.Hub
	// Marks are what outlives Redis of the lanes; nil where nothing does.
	Marks   Marks
	Queue   *taskqueue.Client
	Targets *target.Set
	Records lane.Records
	Runner  *lane.Runner
	Tasks   lane.Tasks
	Reads   *Reads
	Drain   *shutdown.Drain
	Clock   clock.System
	Random  clock.System

	firestore *firestoreconn.Conn // nil without
	restoring restoring
}

// Open makes the parts. Targets that the policy names are looked for among functions first, the Go functions linked into the
// bundle (target.Default in the cloud), else called by HTTP. ctx ends the making, not the parts.
func Open(ctx context.Context, c Config, functions *target.Set) (*Parts, error) {
	var conn *firestoreconn.Conn
	if c.Firestore != nil {
		conn = firestoreconn.New(*c.Firestore)
	}
	tracker := newTracker(c, conn)
	rdb, err := redisconn.Open(c.Redis, redisconn.OnConnect(tracker.OnConnect))
	if err != nil {
		return nil, fmt.Errorf("open redis: %w", err)
	}
	tracker.Use(rdb)
	targets, err := openTargets(c.Policy, functions, rdb)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	reads, err := openReads(c, rdb)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	queue, err := taskqueue.New(ctx, c.Tasks)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open queue: %w", err), reads.close(), rdb.Close())
	}
	p := &Parts{Config: c, Redis: rdb, Queue: queue, Targets: targets, Hub: slot.NewHub(rdb), Reads: reads, Drain: &shutdown.Drain{}}
	p.Generation, p.firestore = tracker, conn
	p.Intervals = slot.NewIntervals(rdb, p.Clock.Now)
	p.Slots = slot.New(rdb, tracker, p.Intervals)
	p.PausedTargets = slot.NewPausedTargets(rdb, p.Clock.Now)
	p.Slots.Paused = p.paused
	records := p.openStores()
	if p.Marks != nil {
		p.PausedTargets.Lasting = p.Marks
	}
	p.Runner = &lane.Runner{Slots: p.Slots, Targets: targets, Clock: p.Clock, Random: p.Random}
	p.Records = lane.Records{Store: records, Slots: p.Slots, Dead: slot.NewDeadLetters(rdb), Queue: queue, Clock: p.Clock}
	p.Runner.Decider = &lane.Decider{Slots: p.Slots, Records: p.Records}
	kept := lane.NewMarks(p.Marks, p.Slots)
	p.Slots.Restore = kept.Restore
	p.Tasks = lane.Tasks{Queue: queue, Kicks: p.Slots, Marks: kept, Clock: p.Clock, Random: p.Random}
	return p, nil
}

// openStores returns the store of durable records, and sets that of the marks. Without one no lane is durable.
func (p *Parts) openStores() lane.RecordStore {
	p.Marks = p.Config.Marks
	switch c := p.Config; {
	case c.Records != nil:
		return c.Records
	case p.firestore != nil:
		p.Marks = marks.NewFirestore(p.firestore, marks.Options{})
		return record.NewFirestore(p.firestore, record.Options{})
	}
	for _, l := range p.Config.Policy.Lanes {
		l.Durable = false
	}
	return nil
}

// CountMissing counts one missing head over all lanes, and says whether voiding may go on.
func (p *Parts) CountMissing(ctx context.Context) (bool, error) {
	return slot.CountMissing(ctx, p.Redis, p.Clock.Now())
}

// Close frees the connections. No work may be under way.
func (p *Parts) Close() error {
	p.restoring.work.Wait()
	errs := []error{p.Reads.close(), p.Hub.Close(), p.Queue.Close(), p.Redis.Close()}
	if p.firestore != nil {
		errs = append(errs, p.firestore.Close())
	}
	return errors.Join(errs...)
}

func openTargets(doc *policy.Document, functions *target.Set, rdb redis.Cmdable) (*target.Set, error) {
	set := &target.Set{}
	var errs []error
	for name, t := range doc.Targets {
		c := target.Config{
			Name: name, URL: t.URL, Method: t.Method, Timeout: t.Timeout, Headers: t.Headers, Audience: t.Audience,
			Secret: t.Secret, Retryable: t.Retry.Retryable, RetryTimeout: t.Retry.Timeout, RetryRefused: t.Retry.Refused,
		}
		made, err := openTarget(c, functions)
		if err == nil && t.MaxConcurrent > 0 {
			made = &concurrency.Target{
				Target: made, Name: name, Places: t.MaxConcurrent, Timeout: t.Timeout, Redis: rdb, Clock: clock.System{}, Random: clock.System{},
			}
		}
		if err == nil {
			err = set.Add(name, made)
		}
		errs = append(errs, err)
	}
	return set, errors.Join(errs...)
}

func openTarget(c target.Config, functions *target.Set) (target.Target, error) {
	made, ok := functions.Get(c.Name)
	if !ok {
		return target.New(c)
	}
	if f, ok := made.(target.Func); ok {
		return f.With(c), nil
	}
	return made, nil
}
