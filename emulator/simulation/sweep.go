package simulation

import (
	"maps"
	"slices"
	"time"
)

// sweep is Cloud Scheduler: each minute it calls an executor.
func (w *World) sweep() {
	for n := int64(0); ; n++ {
		time.Sleep(time.Minute + time.Microsecond) // at instants of its own
		w.mu.Lock()
		over := w.over
		w.mu.Unlock()
		if over {
			return
		}
		in := w.pick(&w.executors, "sweep "+number(n))
		go func() {
			in.enter("sweep")
			_, _ = in.executor.Sweep(w.ctx)
		}() // it fails when Redis does; the next one is a minute away
	}
}

// laneKeys are the lanes of the run.
func (w *World) laneKeys() []string {
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	return slices.Sorted(maps.Keys(w.oracle.lanes))
}
