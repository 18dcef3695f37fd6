package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// typicalTask is a task as an enqueuer makes it: name, headers, token, body.
func typicalTask(i int, at time.Time, body int) *cloudtaskspb.Task {
	return httpTask(named(fmt.Sprintf("%032x-%d", i*2654435761, i)), due(at), func(t *cloudtaskspb.Task) {
		r := t.GetHttpRequest()
		r.Url = "https://executor-1234567890.europe-west1.run.app/"
		r.Body = make([]byte, body)
		r.Headers = map[string]string{"Content-Type": "application/json", "Seriatim-Mac": fmt.Sprintf("%064x", i), "traceparent": fmt.Sprintf("00-%032x-%016x-01", i, i)}
		r.AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{
			ServiceAccountEmail: "tasks@project.iam.gserviceaccount.com", Audience: "https://executor-1234567890.europe-west1.run.app",
		}}
	})
}

func (w *world) add(task *cloudtaskspb.Task) {
	if _, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: task}); err != nil {
		w.t.Fatal(err)
	}
}

// Not parallel: it measures the heap.
func TestALoadOf50000WaitingTasks(t *testing.T) {
	const tasks, body, burst = 50000, 100, 100
	w := setup(t, engine.Options{})
	w.answer = func(*engine.Attempt) (engine.Result, time.Duration) {
		return engine.Result{Status: 200}, 100 * time.Millisecond
	}
	before := heapInUse()
	for i := range tasks {
		at := start.Add(time.Minute)
		if i%10 >= 3 {
			at = start.Add(24 * time.Hour)
		}
		w.add(typicalTask(i, at, body))
	}
	each := int64(heapInUse()-before)/tasks - body
	t.Logf("%d bytes a task beside its body", each)
	if each > 2048 {
		t.Errorf("%d bytes a task beside its body, want at most 2048", each)
	}
	// 15,000 of them fall due at once.
	w.run(time.Minute)
	if len(w.starts) != burst {
		t.Fatalf("%d started at once, want the burst of %d", len(w.starts), burst)
	}
	for second := 1; second <= 20; second++ {
		started := len(w.starts)
		w.run(time.Second)
		if got := len(w.starts) - started; got < 490 || got > 510 {
			t.Errorf("%d in second %d, want 500 within 2 %%", got, second)
		}
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestAnEngineForgetsWhatIsDone(t *testing.T) {
	w := setup(t, engine.Options{NameReuse: time.Minute}) // not parallel: it measures the heap
	before := heapInUse()
	for round := range 5 {
		for i := range 1000 {
			w.add(typicalTask(round*1000+i, w.now, 1000))
		}
		w.run(2 * time.Minute)
		w.starts = nil
	}
	if grown := int64(heapInUse()) - int64(before); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes over 5,000 finished tasks", grown)
	}
	runtime.KeepAlive(w)
}

func BenchmarkCreate10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w := setup(b, engine.Options{})
		tasks := make([]*cloudtaskspb.Task, 10000)
		for i := range tasks {
			tasks[i] = typicalTask(i, start.Add(time.Duration(i*7919%10000)*time.Second), 1000)
		}
		b.StartTimer()
		for _, task := range tasks {
			w.add(task)
		}
	}
}

func BenchmarkDispatch10000Due(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w := setup(b, engine.Options{})
		for i := range 10000 {
			w.add(typicalTask(i, start, 1000))
		}
		b.StartTimer()
		w.run(time.Minute)
	}
}
