package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
)

// world is everything that runs: the functions in processes of their own, what they talk to, and who talks to them.
type world struct {
	ctx     context.Context // ends with the run
	options Options
	dir     string
	log     *journal

	tasks      *cloudtasks.Server
	tasksFault sync.Mutex

	store *store

	firestore        *proxy
	firestorePort    int
	firestoreProcess *process
	firestoreFault   sync.Mutex

	target             *target
	targetURL          string
	ingests, executors []*function
	ingest, executor   *balancer
	deliveries         deliveries
	clients            *clients
	operator           *operator
	closers            []func()

	mu     sync.Mutex
	losses []loss
}

func (w *world) functions() []*function { return slices.Concat(w.ingests, w.executors) }

// lost notes a loss of Redis whose store answers again.
func (w *world) lost(kind string, from, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losses = append(w.losses, loss{kind: kind, from: from, at: at, up: time.Now()})
}

func (w *world) lossList() []loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.losses)
}

// open starts everything. What it has started it ends when it fails.
func (w *world) open() (err error) {
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := errors.Join(w.openTasks(), w.openTarget()); err != nil {
		return err
	}
	stores := make(chan error, 2)
	go func() { stores <- w.openRedis() }()
	go func() { stores <- w.openFirestore() }()
	if err := errors.Join(<-stores, <-stores); err != nil {
		return err
	}
	if err := w.openFunctions(); err != nil {
		return err
	}
	w.clients = newClients(w.ingest.url, newDice(w.options.Seed, 2), w.target)
	w.operator = &operator{clients: w.clients, dice: newDice(w.options.Seed, 3), log: w.log}
	return w.healthy()
}

// close ends everything that open began.
func (w *world) close() {
	for _, f := range slices.Backward(w.closers) {
		f()
	}
}

func (w *world) atEnd(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closers = append(w.closers, f)
}

func (w *world) openTasks() (err error) {
	w.tasks, err = cloudtasks.Start(context.WithoutCancel(w.ctx), cloudtasks.Options{
		Queues: []*cloudtaskspb.Queue{stack.QueueConfig()}, Seed: w.options.Seed, Logger: quiet,
	})
	if err != nil {
		return fmt.Errorf("start the Cloud Tasks emulator: %w", err)
	}
	w.atEnd(w.tasks.Close)
	return w.misbehave(calmTasks)
}

func (w *world) openTarget() error {
	w.target = newTarget(newDice(w.options.Seed, 1))
	server, url, err := serve(w.ctx, w.target)
	if err != nil {
		return err
	}
	w.targetURL = url
	w.atEnd(func() { _ = server.Close() })
	return nil
}

func (w *world) openRedis() error {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("chaos needs a real Redis: %w", err)
	}
	w.store, err = openStore(w.ctx, w.dir, binary)
	if w.store != nil {
		w.atEnd(w.store.close)
	}
	return err
}

func (w *world) openFirestore() error {
	java, jar, err := firestoretest.Find()
	if err != nil {
		return fmt.Errorf("chaos needs the Firestore emulator: %w", err)
	}
	err = onFreePort(func(port int) (err error) {
		w.firestorePort = port
		w.firestoreProcess, err = launch(w.ctx, w.dir, "firestore", port, nil, java, firestoretest.Arguments(jar, port, "2g")...)
		return err
	})
	if err != nil {
		return err
	}
	w.atEnd(w.firestoreProcess.kill)
	if w.firestore, err = newProxy(w.ctx, local(w.firestorePort)); err != nil {
		return err
	}
	w.atEnd(w.firestore.close)
	return nil
}

func (w *world) openFunctions() (err error) {
	for i := range 2 * instances {
		name, entry, list := "ingest", "Ingest", &w.ingests
		if i%2 == 1 {
			name, entry, list = "executor", "Executor", &w.executors
		}
		f, err := newFunction(fmt.Sprintf("%s-%d", name, len(*list)+1), entry)
		if err != nil {
			return err
		}
		f.environment = w.environment
		f.launch = func(ctx context.Context, name string, port int, env []string) (*process, error) {
			return launch(ctx, w.dir, name, port, env, w.options.Program[0], append(slices.Clone(w.options.Program[1:]), Command)...)
		}
		*list = append(*list, f)
	}
	if w.ingest, err = newBalancer(w.ctx, w.ingests, nil); err != nil {
		return err
	}
	w.atEnd(func() { _ = w.ingest.server.Close() })
	if w.executor, err = newBalancer(w.ctx, w.executors, w.deliveries.see); err != nil {
		return err
	}
	w.atEnd(func() { _ = w.executor.server.Close() })
	for _, f := range w.functions() {
		w.atEnd(func() { f.kill() })
		if err := f.start(w.ctx); err != nil {
			return err
		}
	}
	return nil
}

// environment is that of one life of a function.
func (w *world) environment(life string) []string {
	return []string{
		"SERIATIM_CONFIG=" + document(w.targetURL, life, w.options.Lines), "SERIATIM_REDIS_URL=redis://" + w.store.front.addr(),
		"SERIATIM_QUEUE=" + stack.Queue, "SERIATIM_EXECUTOR_URL=" + w.executor.url, "SERIATIM_TASKS_ENDPOINT=" + w.tasks.Addr(),
		"SERIATIM_ENVELOPE_KEY=0123456789abcdef0123456789abcdef", "SERIATIM_AUTH=off",
		"SERIATIM_FIRESTORE=" + stack.Database, "FIRESTORE_EMULATOR_HOST=" + w.firestore.addr(),
	}
}

// healthy waits until every ingest says so.
func (w *world) healthy() error {
	ctx, cancel := context.WithTimeout(w.ctx, startTimeout)
	defer cancel()
	for _, f := range w.ingests {
		for {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(f.port)+"/v1/health", nil)
			if err != nil {
				return err
			}
			a, err := w.clients.do(req)
			if err == nil && a.code == http.StatusOK {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s is not healthy: %d %s %w", f.name, a.code, a.body, ctx.Err())
			}
			pause(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

// sweep is the world's Cloud Scheduler.
func (w *world) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, sweepEvery)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.executor.url+"/sweep", nil)
		if err == nil {
			_, _ = w.clients.do(req) // the next one goes on
		}
	}
}

// sweepEvery is more often than the minute of a deployment, for a run that is seconds long.
const sweepEvery = 15 * time.Second
