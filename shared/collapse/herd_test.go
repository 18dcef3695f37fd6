package collapse

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
	took      atomic.Int64 // by the origin's last answer, on the origin's own clock
}

func newFleet(tb testing.TB, strategy string, processes int, lease time.Duration, serve http.HandlerFunc) *fleet {
	tb.Helper()
	f := &fleet{server: redistest.Start(tb)}
	f.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		began := time.Now()
		serve(w, r)
		f.took.Store(int64(time.Since(began)))
	}))
	tb.Cleanup(f.origin.Close)
	for range processes {
		f.processes = append(f.processes, spawn(tb, task{strategy, f.server.Addr(), lease}))
	}
	return f
}

// herd has callers in all processes read at one instant, and adds up what they
// saw.
func (f *fleet) herd(read string, callers int) report {
	start := time.Now().Add(20 * time.Millisecond) // all processes have heard of it by then
	for i, p := range f.processes {
		share := callers * (i + 1) / len(f.processes)
		p.begin(round{f.origin.URL, read, start, share - callers*i/len(f.processes)})
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
	leader.begin(round{f.origin.URL, "cold", time.Now(), 1})
	<-reached
	f.processes = f.processes[1:]
	done := make(chan report)
	go func() { done <- f.herd("cold", 200) }()

	channel := Key{Origin: "shop", Read: "cold"}.epoch()
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

// BenchmarkHerd compares the strategies: in every iteration each has a cold herd,
// one strategy after the other, so that what else the machine does hits all.
//
//	go test ./shared/collapse -run - -bench Herd -benchtime 20x
//
// Its table says by how much of the origin's time, on the origin's own clock,
// the callers took longer than the origin, each from entry to return: the
// median of the iterations, and in brackets the best and the worst.
func BenchmarkHerd(b *testing.B) {
	for _, herd := range []struct {
		callers int
		origin  time.Duration
	}{{1000, 200 * time.Millisecond}, {51, 20 * time.Millisecond}} {
		b.Run(fmt.Sprintf("callers=%d/origin=%v", herd.callers, herd.origin), func(b *testing.B) {
			fleets, seen := map[string]*fleet{}, map[string][]observed{}
			for strategy := range strategies {
				fleets[strategy] = newFleet(b, strategy, 4, 3*time.Second, slowly(herd.origin))
			}
			for n := 0; b.Loop(); n++ {
				for strategy, f := range fleets {
					seen[strategy] = append(seen[strategy], f.observe(b, fmt.Sprint("herd ", n), herd.callers))
				}
			}
			b.ReportMetric(0, "ns/op")
			var table strings.Builder
			for _, strategy := range slices.Sorted(maps.Keys(seen)) {
				fmt.Fprintf(&table, "\n%-10s", strategy)
				for _, measure := range measures {
					fmt.Fprintf(&table, " | %s %s", measure.name, spread(seen[strategy], measure.of))
				}
			}
			b.Log(table.String())
		})
	}
}

// observed is one herd of the comparison.
type observed struct{ calls, commands, p50, p99 float64 }

var measures = []struct {
	name string
	of   func(observed) float64
}{
	{"origin calls", func(o observed) float64 { return o.calls }},
	{"Redis commands", func(o observed) float64 { return o.commands }},
	{"p50 extra", func(o observed) float64 { return o.p50 }},
	{"p99 extra", func(o observed) float64 { return o.p99 }},
}

func (f *fleet) observe(b *testing.B, read string, callers int) observed {
	b.Helper()
	before := f.calls.Load()
	seen := f.herd(read, callers)
	if seen.Answers["pears 3.20"] != callers {
		b.Fatalf("answers: %v", seen.Answers)
	}
	origin := float64(f.took.Load())
	extra := func(percent int) float64 { return float64(seen.Spans[(callers-1)*percent/100])/origin - 1 }
	return observed{float64(f.calls.Load() - before), float64(seen.Commands), extra(50), extra(99)}
}

// spread is the median of a measure, with its least and its most.
func spread(all []observed, of func(observed) float64) string {
	var values []float64
	for _, o := range all {
		values = append(values, of(o))
	}
	slices.Sort(values)
	return fmt.Sprintf("%.3g [%.3g, %.3g]", values[len(values)/2], values[0], values[len(values)-1])
}
