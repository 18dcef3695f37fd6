package compare

import (
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// job is a task of the test: when it is created, for when, and what its handler takes.
type job struct{ created, due, takes time.Duration }

// TestTheQueueDispatchesAsTheEmulatorDoes gives both the same tasks, with the same lateness for all.
func TestTheQueueDispatchesAsTheEmulatorDoes(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*cloudtaskspb.RateLimits{
		"one queue for all": {MaxDispatchesPerSecond: 500, MaxConcurrentDispatches: 1000},
		"one queue per key": {MaxDispatchesPerSecond: 1, MaxConcurrentDispatches: 1},
		"few at once":       {MaxDispatchesPerSecond: 9, MaxConcurrentDispatches: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 1))
			var jobs []job
			for at := time.Duration(0); len(jobs) < 2000; at += time.Duration(r.IntN(3000)) * time.Microsecond {
				jobs = append(jobs, job{at, at + time.Duration(r.IntN(4))*time.Second, time.Duration(1+r.IntN(200_000)) * time.Microsecond})
			}
			if d := cmp.Diff(emulated(t, limits, jobs), ours(limits, jobs)); d != "" {
				t.Errorf("instants of dispatch (-want +got):\n%s", d)
			}
		})
	}
}

const lateness = 20 * ms

// ours are the instants at which our queue dispatches, to the microsecond.
func ours(limits *cloudtaskspb.RateLimits, jobs []job) (at []time.Duration) {
	w := newWorld(1, 0)
	q := w.newQueue(false)
	q.interval = time.Duration(float64(time.Second) / limits.GetMaxDispatchesPerSecond())
	q.burst, q.concurrent = min(100, int(limits.GetMaxDispatchesPerSecond())), int(limits.GetMaxConcurrentDispatches())
	q.jitter, q.network = [2]time.Duration{lateness, lateness + 1}, [2]time.Duration{0, 1}
	for _, j := range jobs {
		w.at(j.created, func(*process) {
			q.add(j.due, func(p *process) {
				at = append(at, w.now)
				p.sleep(j.takes)
			})
		})
	}
	w.run()
	return at
}

// emulated are those of the engine.
func emulated(t *testing.T, limits *cloudtaskspb.RateLimits, jobs []job) (at []time.Duration) {
	t.Helper()
	const parent = "projects/p/locations/l"
	const name = parent + "/queues/q"
	start := time.Unix(1_800_000_000, 0)
	e := engine.New(engine.Options{Faults: engine.Faults{Jitter: engine.Delay{Min: lateness, Max: lateness}}})
	if _, err := e.CreateQueue(start, parent, &cloudtaskspb.Queue{Name: name, RateLimits: limits}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(1, 0) // its clock drives the engine
	takes, planned := map[string]time.Duration{}, map[time.Duration]bool{}
	var pump func(*process)
	pump = func(*process) {
		for _, a := range e.Advance(start.Add(w.now)).Start {
			at = append(at, w.now)
			w.at(w.now+takes[a.Task], func(p *process) {
				e.Finish(start.Add(w.now), a, engine.Result{Status: 200})
				pump(p)
			})
		}
		if next, ok := e.Next(); ok && !planned[next.Sub(start)] && len(at) < len(jobs) {
			planned[next.Sub(start)] = true
			w.at(next.Sub(start), pump)
		}
	}
	for _, j := range jobs {
		w.at(j.created, func(p *process) {
			task, err := e.CreateTask(start.Add(w.now), &cloudtaskspb.CreateTaskRequest{Parent: name, Task: &cloudtaskspb.Task{
				ScheduleTime: timestamppb.New(start.Add(j.due)),
				MessageType:  &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: "https://target.example/"}},
			}})
			if err != nil {
				t.Error(err)
				return
			}
			takes[task.GetName()] = j.takes
			pump(p)
		})
	}
	w.run()
	return at
}
