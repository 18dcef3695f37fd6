package engine_test

import (
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func TestRunTask(t *testing.T) {
	t.Parallel()
	run := func(w *world, task *cloudtaskspb.Task) {
		t.Helper()
		if _, err := w.RunTask(w.now, task.GetName(), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("ignores schedule, pause, rate and concurrency", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{}, limits(0.001, 1, 1))
		w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 200}, time.Minute }
		tasks := []*cloudtaskspb.Task{w.create(), w.create(due(start.Add(time.Hour)))}
		if _, err := w.PauseQueue(name); err != nil {
			t.Fatal(err)
		}
		run(w, tasks[0])
		run(w, tasks[1])
		w.step()
		if len(w.starts) != 2 {
			t.Errorf("%d attempts, want 2", len(w.starts))
		}
	})
	t.Run("success deletes the task, so that it runs exactly once", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{})
		run(w, w.create(due(start.Add(time.Minute))))
		w.run(time.Hour)
		if diff := cmp.Diff([]time.Duration{0}, w.offsets()); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
	})
	t.Run("failure schedules from the time of the call", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{}, retries(-1, 0, 10*time.Second, time.Minute, 1))
		w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
			return engine.Result{Status: 400}, 4 * time.Second
		}
		run(w, w.create(due(start.Add(time.Hour))))
		w.run(5 * time.Second)
		w.statuses(200)
		w.run(time.Hour)
		if diff := cmp.Diff([]time.Duration{0, 10 * time.Second}, w.offsets()); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
	})
	t.Run("also while the task runs; the first success deletes it", func(t *testing.T) {
		t.Parallel()
		w := setup(t, engine.Options{})
		w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
			return engine.Result{Status: []int{500, 200}[len(w.starts)-1]}, time.Duration(len(w.starts)) * time.Second
		}
		task := w.create()
		w.run(0)
		run(w, task)
		w.run(time.Hour)
		if stats := w.Stats(); len(w.starts) != 2 || stats.Completed != 1 || stats.Waiting != 0 {
			t.Errorf("starts %v, stats %+v", w.offsets(), stats)
		}
	})
}
