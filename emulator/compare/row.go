package compare

import (
	"math"
	"slices"
	"time"
)

const (
	// price is what a million operations of Cloud Tasks cost in US dollars, beyond the first million of a month, by the list of
	// priceDate. An operation is a call of the API or an attempt.
	price     = 0.40
	priceDate = "30 November 2026"

	// tolerance is how much earlier than the pace a target may see a start: it is kept where it is granted, a network away.
	tolerance = 10 * ms
)

// Row is what a strategy made of a load.
type Row struct {
	Strategy string `json:"strategy"`
	// Per request.
	Dispatches float64 `json:"dispatches_per_request"`
	Operations float64 `json:"cloud_tasks_operations_per_request"`
	Redis      float64 `json:"redis_commands_per_request"`
	// Dollars are what Cloud Tasks costs for a million requests.
	Dollars float64 `json:"cloud_tasks_dollars_per_million_requests"`
	// Makespan is over the ideal one; who breaks order or pace can be below 1.
	Makespan float64 `json:"makespan_over_ideal"`
	// Inversions are starts before another request of the key that was acknowledged before this one was sent. Overlaps are starts
	// while another request of the key ran. Early are starts before the pace of the key allowed one.
	Inversions int `json:"inversions"`
	Overlaps   int `json:"overlaps"`
	Early      int `json:"pace_violations"`
	// Quiet is how long requests of quiet tenants waited for their start; nil where there are none.
	Quiet *Wait `json:"quiet_tenants_wait,omitempty"`

	starts []start
}

// Wait is a distribution of waits, in seconds.
type Wait struct {
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`
}

// start is a start of the thousand, for the picture.
type start struct {
	rank int
	at   time.Duration
	bad  bool // it broke order, exclusion or pace
}

// judge measures what was seen. It is an error when a request has not run, or twice.
func judge(load *workload, name string, l *log, c costs) (Row, error) {
	if err := l.whole(); err != nil {
		return Row{}, err
	}
	n := float64(len(load.submissions))
	r := Row{
		Strategy: name, Dispatches: round(float64(c.Dispatches) / n), Operations: round(float64(c.Operations) / n),
		Redis: round(float64(c.Redis) / n), Dollars: round(float64(c.Operations) / n * price),
		Makespan: round(float64(makespan(load, l)) / float64(makespan(load, ideal(load)))), Quiet: quiet(load, l),
	}
	for lane, runs := range l.lanes(load) {
		before, busy := time.Duration(math.MinInt64/2), time.Duration(0)
		for i, run := range runs {
			inverted := overtakes(load, l, run.request, runs[i+1:])
			overlaps := run.start < busy
			early := run.start-before < load.Spacing-tolerance
			r.Inversions += count(inverted)
			r.Overlaps += count(overlaps)
			r.Early += count(early)
			if lane == noisy {
				r.starts = append(r.starts, start{at: run.start, rank: rank(load, run.request), bad: inverted || overlaps || early})
			}
			before, busy = run.start, max(busy, run.end)
		}
	}
	return r, nil
}

// overtakes says that one of later had been acknowledged before request was sent.
func overtakes(load *workload, l *log, request int, later []run) bool {
	sent := load.submissions[request].At
	return slices.ContainsFunc(later, func(r run) bool {
		return r.request < request && l.answered[r.request] > 0 && l.answered[r.request] <= sent
	})
}

// rank is the place of a request among those of its key.
func rank(load *workload, request int) (n int) {
	for _, s := range load.submissions[:request] {
		n += count(s.Lane == load.submissions[request].Lane)
	}
	return n
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// makespan is from the first submission to the last end.
func makespan(load *workload, l *log) (end time.Duration) {
	for _, r := range l.runs {
		end = max(end, r.end)
	}
	return end - load.submissions[0].At
}

func quiet(load *workload, l *log) *Wait {
	if load.quiet == nil {
		return nil
	}
	var waits []time.Duration
	for _, r := range l.runs {
		if s := load.submissions[r.request]; load.quiet(s.Lane) {
			waits = append(waits, r.start-s.At)
		}
	}
	slices.Sort(waits)
	at := func(share float64) float64 { return round(waits[int(share*float64(len(waits)-1))].Seconds()) }
	return &Wait{P50: at(0.5), P99: at(0.99)}
}

// round keeps four digits: the last ones differ between processors.
func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }
