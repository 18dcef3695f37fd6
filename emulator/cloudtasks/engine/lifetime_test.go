package engine_test

import (
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func TestDeleteAndPurgeStopWhatWaitsAndForgetWhatRuns(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]func(w *world, task string) error{
		"DeleteTask":  func(w *world, task string) error { return w.DeleteTask(w.now, task) },
		"PurgeQueue":  func(w *world, _ string) error { _, err := w.PurgeQueue(w.now, name); return err },
		"DeleteQueue": func(w *world, _ string) error { return w.DeleteQueue(w.now, name) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := setup(t, engine.Options{}, limits(500, 1, 1))
			w.answer = func(*engine.Attempt) (engine.Result, time.Duration) { return engine.Result{Status: 500}, time.Second }
			w.create(named("runs"))
			w.run(0)
			if err := remove(w, name+"/tasks/runs"); err != nil {
				t.Fatal(err)
			}
			w.run(48 * time.Hour)
			if stats := w.Stats(); len(w.starts) != 1 || stats.InFlight != 0 || stats.Waiting != 0 {
				t.Errorf("starts %v, stats %+v", w.offsets(), stats)
			}
		})
	}
}

func TestANameIsTakenUntilItsReuseWindowEnds(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	w.create(named("x"))
	w.run(24*time.Hour - 1)
	if err := createTask(named("x"))(w); err == nil {
		t.Error("the name was free before 24 h had passed")
	}
	w.run(1)
	w.create(named("x"))
}

func TestATaskLives31DaysDispatchedOrNot(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	w := setup(t, engine.Options{}, retries(-1, 0, day, day, 0))
	w.statuses(500)
	w.create(named("retried"))
	if _, err := w.CreateQueue(w.now, place, &cloudtaskspb.Queue{Name: name + "2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.PauseQueue(name + "2"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name + "2", Task: httpTask()}); err != nil {
		t.Fatal(err)
	}
	w.run(31*day - 1)
	if stats := w.Stats(); stats.Waiting != 2 || len(w.starts) != 31 {
		t.Errorf("just before 31 days: %d starts, stats %+v", len(w.starts), stats)
	}
	w.run(day)
	if stats := w.Stats(); stats.Expired != 2 || len(w.starts) != 31 {
		t.Errorf("after 31 days: %d starts, stats %+v", len(w.starts), stats)
	}
	if next, ok := w.Next(); ok {
		t.Errorf("an empty engine has an event at %v", next)
	}
}
