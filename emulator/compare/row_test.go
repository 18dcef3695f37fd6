package compare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/simulation"
)

// four requests of one key, a second apart, each acknowledged half a second after it was sent and done in 0.2 s.
func four() (*workload, *log) {
	load := &workload{Name: "four", Spacing: time.Second}
	l := newLog(4)
	for i := range 4 {
		sent := time.Duration(i) * time.Second
		load.submissions = append(load.submissions, simulation.Submission{At: sent, Lane: noisy, Takes: 200 * ms})
		l.answer(i, sent+500*ms)
	}
	return load, l
}

func TestARowCountsWhatWasBroken(t *testing.T) {
	t.Parallel()
	type broken struct{ Inversions, Overlaps, Early int }
	for name, test := range map[string]struct {
		starts [4]time.Duration // of the requests, in the order of submission
		want   broken
	}{
		"in turn, alone, at pace":         {[4]time.Duration{1000 * ms, 2000 * ms, 3000 * ms, 4000 * ms}, broken{}},
		"a network's delay is no breach":  {[4]time.Duration{1000 * ms, 1995 * ms, 3000 * ms, 3995 * ms}, broken{}},
		"two too soon":                    {[4]time.Duration{1000 * ms, 1500 * ms, 3000 * ms, 3900 * ms}, broken{Early: 2}},
		"two that overlap are too soon":   {[4]time.Duration{1000 * ms, 1100 * ms, 3000 * ms, 4000 * ms}, broken{Overlaps: 1, Early: 1}},
		"the last overtakes all":          {[4]time.Duration{5000 * ms, 6000 * ms, 7000 * ms, 4000 * ms}, broken{Inversions: 1}},
		"all overtake the first":          {[4]time.Duration{9000 * ms, 3000 * ms, 4000 * ms, 5000 * ms}, broken{Inversions: 3}},
		"two swapped, beside one another": {[4]time.Duration{1000 * ms, 3010 * ms, 3000 * ms, 9000 * ms}, broken{Inversions: 1, Overlaps: 1, Early: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load, l := four()
			for i, at := range test.starts {
				l.start(i, at)
				l.end(i, at+200*ms)
			}
			row, err := judge(load, "", l, costs{})
			if d := cmp.Diff(test.want, broken{row.Inversions, row.Overlaps, row.Early}); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

func TestWhoIsNotAcknowledgedYetMayBeOvertaken(t *testing.T) {
	t.Parallel()
	load, l := four()
	l.answer(0, 1001*ms) // just after the next was sent
	for i, at := range []time.Duration{2500 * ms, 1500 * ms, 3500 * ms, 4500 * ms} {
		l.start(i, at)
		l.end(i, at+200*ms)
	}
	if row, err := judge(load, "", l, costs{}); row.Inversions != 0 || err != nil {
		t.Errorf("%d inversions, %v; want none", row.Inversions, err)
	}
}

func TestARowIsMeasuredByItsIdealAndItsRequests(t *testing.T) {
	t.Parallel()
	load, l := four()
	load.quiet = func(string) bool { return true }
	for i := range 4 { // a second late, all of them: ideally the last ends at 3.2 s
		at := time.Duration(i+1) * time.Second
		l.start(i, at)
		l.end(i, at+200*ms)
	}
	got, err := judge(load, "it", l, costs{Dispatches: 6, Operations: 10, Redis: 14})
	if err != nil {
		t.Fatal(err)
	}
	got.starts = nil
	want := Row{
		Strategy: "it", Dispatches: 1.5, Operations: 2.5, Redis: 3.5, Dollars: 1, Makespan: 1.3125, Quiet: &Wait{P50: 1, P99: 1},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Row{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestALostOrRepeatedRequestIsAnError(t *testing.T) {
	t.Parallel()
	for name, requests := range map[string][]int{"lost": {0, 1, 2}, "repeated": {0, 1, 2, 3, 2}} {
		load, l := four()
		for i, request := range requests {
			l.start(request, time.Duration(i+1)*time.Second)
		}
		if _, err := judge(load, "", l, costs{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
