package compare

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// Report is the whole comparison.
type Report struct {
	Seed      uint64   `json:"seed"`
	Price     float64  `json:"cloud_tasks_dollars_per_million_operations"`
	PriceDate string   `json:"price_date"`
	Results   []Result `json:"results"`
}

// Result is what all strategies made of one load.
type Result struct {
	Load     string  `json:"load"`
	Title    string  `json:"title"`
	Late     bool    `json:"late_dispatches"`
	Requests int     `json:"requests"`
	Ideal    float64 `json:"ideal_makespan_seconds"`
	// Quiet are the waits that order and pace alone ask of the quiet tenants.
	Quiet *Wait `json:"ideal_quiet_tenants_wait,omitempty"`
	Rows  []Row `json:"rows"`

	load *workload
}

// Run compares. It takes some ten seconds on two processors, and needs t for the bubbles in which the product's code runs; it must
// not be called inside one. It is an error of a strategy when a request has not run, or twice.
func Run(t *testing.T, seed uint64) (Report, error) {
	t.Helper()
	report := Report{Seed: seed, Price: price, PriceDate: priceDate}
	ways := strategies()
	for _, l := range loads(seed) {
		best := ideal(l)
		report.Results = append(report.Results, Result{
			Load: l.Name, Title: l.Title, Late: l.Late, Requests: len(l.submissions), Ideal: round(makespan(l, best).Seconds()),
			Quiet: quiet(l, best), Rows: make([]Row, len(ways)), load: l,
		})
	}
	var (
		all    sync.WaitGroup
		places = make(chan struct{}, runtime.GOMAXPROCS(0))
		faults = make(chan error, len(report.Results)*len(ways))
	)
	for _, result := range report.Results {
		for i, s := range ways {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				seen, costs, err := s.run(t, result.load, seed)
				if err == nil {
					result.Rows[i], err = judge(result.load, s.Name, seen, costs)
				}
				if err != nil {
					faults <- fmt.Errorf("%s, %s: %w", result.heading(), s.Name, err)
				}
			})
		}
	}
	all.Wait()
	close(faults)
	var err error
	for f := range faults {
		err = errors.Join(err, f)
	}
	return report, err
}
