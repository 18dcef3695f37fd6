package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

// fault is one kind of what goes wrong.
type fault struct {
	name   string
	weight int // cards of every deck but the first
	strike func(ctx context.Context, w *world, d *dice) error
}

// calmTasks is how Cloud Tasks behaves at its best: no dispatch is exactly at its time.
const calmTasks = "jitter=2ms-30ms"

// faults are dealt from shuffled decks. Losses of Redis are rare among them: after each, what is new waits for what was accepted
// before, and under one loss after the other it would wait for ever longer.
var faults = []fault{
	{"kill ingest", 12, killIngest},
	{"kill executor", 16, killExecutor},
	{"terminate", 3, terminate},
	{"stop a process", 3, stopProcess},
	{"redis connections cut", 4, cutRedis},
	{"redis replies lost", 3, loseRedisReplies},
	{"redis paused", 3, pauseRedis},
	{"redis full", 3, fillRedis},
	{"firestore cut off", 3, cutFirestore},
	{"firestore frozen", 3, freezeFirestore},
	{"tasks late and twice", 3, tasksWith("jitter=5ms-200ms,late=0.05:1s-4s,duplicate=0.1,reorder=0.2")},
	{"tasks refused", 3, tasksWith("jitter=5ms-50ms,error=0.3,lose-reply=0.2")},
	{"queue away", 2, tasksWith("error=1:UNAVAILABLE")},
	{"redis failover", 2, failoverRedis},
	{"redis emptied", 1, crashRedis},
	{"redis flushed", 1, flushRedis},
}

func killIngest(ctx context.Context, w *world, d *dice) error {
	return kill(ctx, w, d, w.ingests[d.intN(len(w.ingests))])
}

func killExecutor(ctx context.Context, w *world, d *dice) error {
	return kill(ctx, w, d, w.executors[d.intN(len(w.executors))])
}

func kill(ctx context.Context, w *world, d *dice, f *function) error {
	f.fault.Lock()
	defer f.fault.Unlock()
	e := w.log.begin("kill", f.name)
	w.log.tell(e, f.kill())
	pause(ctx, d.between(0, 1500*time.Millisecond))
	defer w.log.end(e)
	return f.start(w.ctx)
}

func terminate(_ context.Context, w *world, d *dice) error {
	all := w.functions()
	f := all[d.intN(len(all))]
	f.fault.Lock()
	defer f.fault.Unlock()
	e := w.log.begin("terminate", f.name)
	defer w.log.end(e)
	w.log.tell(e, f.term(w.ctx))
	return f.start(w.ctx)
}

func stopProcess(ctx context.Context, w *world, d *dice) error {
	all := w.functions()
	f := all[d.intN(len(all))]
	f.fault.Lock()
	defer f.fault.Unlock()
	e := w.log.begin("stop", f.name)
	defer w.log.end(e)
	life, thaw := f.stop()
	defer thaw()
	w.log.tell(e, life)
	pause(ctx, d.between(500*time.Millisecond, shortLease+2*time.Second))
	return nil
}

func cutRedis(_ context.Context, w *world, _ *dice) error {
	w.log.note("redis connections cut", "")
	w.store.front.cut()
	return nil
}

func loseRedisReplies(ctx context.Context, w *world, d *dice) error {
	e := w.log.begin("redis replies lost", "")
	defer w.log.end(e)
	w.store.front.loseReplies(0.1)
	pause(ctx, d.between(500*time.Millisecond, 2*time.Second))
	w.store.front.loseReplies(0)
	return nil
}

func pauseRedis(ctx context.Context, w *world, d *dice) error {
	takes := d.between(500*time.Millisecond, shortLease+time.Second)
	e := w.log.begin("redis paused", takes.Round(time.Millisecond).String())
	defer w.log.end(e)
	return w.store.during(ctx, takes, func(s *server) error {
		return s.client.Do(ctx, "CLIENT", "PAUSE", takes.Milliseconds(), "ALL").Err()
	}, func(s *server) error { return s.client.Do(context.WithoutCancel(ctx), "CLIENT", "UNPAUSE").Err() })
}

// fillRedis lets nothing more in: what frees memory still works.
func fillRedis(ctx context.Context, w *world, d *dice) error {
	e := w.log.begin("redis full", "")
	defer w.log.end(e)
	limit := func(bytes string) func(*server) error {
		return func(s *server) error {
			return s.client.ConfigSet(context.WithoutCancel(ctx), "maxmemory", bytes).Err()
		}
	}
	return w.store.during(ctx, d.between(time.Second, 4*time.Second), limit("1mb"), limit("0"))
}

func cutFirestore(ctx context.Context, w *world, d *dice) error {
	w.firestoreFault.Lock()
	defer w.firestoreFault.Unlock()
	e := w.log.begin("firestore cut off", "")
	defer w.log.end(e)
	w.firestore.point("")
	pause(ctx, d.between(time.Second, 8*time.Second))
	w.firestore.point(local(w.firestorePort))
	return nil
}

func freezeFirestore(ctx context.Context, w *world, d *dice) error {
	w.firestoreFault.Lock()
	defer w.firestoreFault.Unlock()
	e := w.log.begin("firestore frozen", "")
	defer w.log.end(e)
	p := w.firestoreProcess.cmd.Process
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze Firestore: %w", err)
	}
	pause(ctx, d.between(500*time.Millisecond, 4*time.Second))
	return p.Signal(syscall.SIGCONT)
}

func tasksWith(text string) func(context.Context, *world, *dice) error {
	return func(ctx context.Context, w *world, d *dice) error {
		w.tasksFault.Lock()
		defer w.tasksFault.Unlock()
		e := w.log.begin("tasks", text)
		defer w.log.end(e)
		if err := w.misbehave(text); err != nil {
			return err
		}
		pause(ctx, d.between(time.Second, 5*time.Second))
		return w.misbehave(calmTasks)
	}
}

func (w *world) misbehave(text string) error {
	f, err := cloudtasks.ParseFaults(text)
	if err != nil {
		return err
	}
	w.tasks.SetFaults(f)
	return nil
}

func failoverRedis(ctx context.Context, w *world, d *dice) error {
	lag, outage := d.between(0, 300*time.Millisecond), d.between(0, time.Second)
	e := w.log.begin("redis failover", fmt.Sprintf("replica %s behind, outage %s", lag.Round(time.Millisecond), outage.Round(time.Millisecond)))
	defer w.log.end(e)
	from, at, err := w.store.failover(ctx, lag, outage)
	w.lost(e.kind, from, at)
	return err
}

func crashRedis(ctx context.Context, w *world, d *dice) error {
	e := w.log.begin("redis emptied", "")
	defer w.log.end(e)
	at, err := w.store.crash(ctx, d.between(0, time.Second))
	w.lost(e.kind, at, at)
	return err
}

func flushRedis(ctx context.Context, w *world, _ *dice) error {
	e := w.log.begin("redis flushed", "")
	defer w.log.end(e)
	at := time.Now()
	err := w.store.do(ctx, "FLUSHALL")
	w.lost(e.kind, at, at)
	return err
}

// named are the faults whose names begin with one of the words; all without words.
func named(words []string) []fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(f.name, word) })
	})
}
