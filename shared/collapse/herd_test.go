package collapse

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// fleet is several processes in front of one origin and one Redis.
type fleet struct {
	processes []*process
	server    *redistest.Server
	origin    *httptest.Server
	calls     atomic.Int64
}

func newFleet(tb testing.TB, strategy string, processes int, lease time.Duration, serve http.HandlerFunc) *fleet {
	tb.Helper()
	f := &fleet{server: redistest.Start(tb)}
	f.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		serve(w, r)
	}))
	tb.Cleanup(f.origin.Close)
	for range processes {
		f.processes = append(f.processes, spawn(tb, task{strategy, f.server.Addr(), lease}))
	}
	return f
}

// herd has callers in all processes read at once, and adds up what they saw.
func (f *fleet) herd(read string, callers int) report {
	for i, p := range f.processes {
		share := callers * (i + 1) / len(f.processes)
		p.begin(round{f.origin.URL, read, share - callers*i/len(f.processes)})
	}
	sum := report{Answers: map[string]int{}}
	for _, p := range f.processes {
		r := p.report()
		sum.Spans = append(sum.Spans, r.Spans...)
		sum.Commands += r.Commands
		for answer, n := range r.Answers {
			sum.Answers[answer] += n
		}
	}
	slices.Sort(sum.Spans)
	return sum
}

// slowly answers after the origin's time.
func slowly(span time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(span):
			_, _ = fmt.Fprint(w, "pears 3.20")
		case <-r.Context().Done():
		}
	}
}

// To show 1: one origin call for 1,000 callers in four processes, and few
// calls to Redis.
func TestHerd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "collapse", 4, time.Minute, slowly(200*time.Millisecond))
	seen := f.herd("cold", 1000)
	if diff := cmp.Diff(map[string]int{"pears 3.20": 1000}, seen.Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := f.calls.Load(); n != 1 {
		t.Errorf("%d origin calls, want 1", n)
	}
	if seen.Commands > 40 {
		t.Errorf("%d commands to Redis, want at most 40", seen.Commands)
	}
	t.Logf("%d commands to Redis; callers took %v to %v", seen.Commands, seen.Spans[0], seen.Spans[999])
}

// To show 3: the leader's process is killed while 200 callers in three others
// follow it: one successor, and all are answered.
func TestHerd_leaderKilled(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	var first atomic.Bool
	f := newFleet(t, "collapse", 4, 2*time.Second, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			close(reached)
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprint(w, "pears 3.20")
	})
	leader := f.processes[0]
	leader.begin(round{f.origin.URL, "cold", 1})
	<-reached
	f.processes = f.processes[1:]
	done := make(chan report)
	go func() { done <- f.herd("cold", 200) }()

	channel := Key{Origin: "shop", Read: "cold"}.entry()
	rdb := f.server.Client()
	eventually(t, "three instances follow", func() bool {
		return rdb.PubSubNumSub(t.Context(), channel).Val()[channel] == 3
	})
	leader.kill()
	if diff := cmp.Diff(map[string]int{"pears 3.20": 200}, (<-done).Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := f.calls.Load(); n != 2 {
		t.Errorf("%d origin calls, want 2", n)
	}
}

// BenchmarkHerd compares the strategies, one cold herd per iteration:
//
//	go test ./shared/collapse -run - -bench Herd -benchtime 5x
//
// extra is how much longer than the origin the callers took, as a part of the
// origin's time.
func BenchmarkHerd(b *testing.B) {
	for _, herd := range []struct {
		callers int
		origin  time.Duration
	}{{1000, 200 * time.Millisecond}, {51, 20 * time.Millisecond}} {
		for _, strategy := range slices.Sorted(maps.Keys(strategies)) {
			b.Run(fmt.Sprintf("callers=%d/origin=%v/%s", herd.callers, herd.origin, strategy), func(b *testing.B) {
				f := newFleet(b, strategy, 4, 3*time.Second, slowly(herd.origin))
				var commands int64
				var spans []time.Duration
				n := 0
				for b.Loop() {
					n++
					seen := f.herd(fmt.Sprint("herd ", n), herd.callers)
					if seen.Answers["pears 3.20"] != herd.callers {
						b.Fatalf("answers: %v", seen.Answers)
					}
					commands += seen.Commands
					spans = append(spans, seen.Spans...)
				}
				slices.Sort(spans)
				extra := func(percent int) float64 {
					return float64(spans[(len(spans)-1)*percent/100]-herd.origin) / float64(herd.origin)
				}
				b.ReportMetric(float64(f.calls.Load())/float64(n), "origin-calls/op")
				b.ReportMetric(float64(commands)/float64(n), "redis-commands/op")
				b.ReportMetric(extra(50), "p50-extra")
				b.ReportMetric(extra(99), "p99-extra")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
