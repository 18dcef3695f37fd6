package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Report is what a run has shown.
type Report struct {
	Date    string  `json:"date"`
	Seed    uint64  `json:"seed"`
	For     string  `json:"for"`
	Drained float64 `json:"drained_s"` // from the last fault until everything acknowledged had ended

	Requests   requestCounts   `json:"requests"`
	Calls      int             `json:"target_calls"`
	Dispatches int64           `json:"dispatches"`
	Faults     map[string]int  `json:"faults"`
	Kills      int             `json:"kills"`
	Losses     []lossReport    `json:"losses"`
	Recovery   recovery        `json:"recovery"`
	Reruns     map[string]int  `json:"reruns"`
	Exceptions map[string]int  `json:"exceptions"`
	Paces      map[string]pace `json:"pace"`
	Replays    int             `json:"replays"`
	Forced     int             `json:"forced_tasks"`
	Left       int64           `json:"tasks_left"`

	Broken     map[string]int `json:"violations"`
	Violations []string       `json:"violation_texts,omitempty"` // the first hundred
	Dir        string         `json:"-"`                         // where the processes' lines are
}

type requestCounts struct {
	Submitted    int `json:"submitted"`
	Acknowledged int `json:"acknowledged"`
	Done         int `json:"done"`
	Dead         int `json:"dead"`
	Cancelled    int `json:"cancelled"`
	Refused      int `json:"refused"` // without a key, told that nothing was taken
}

// lossReport is one loss of Redis. Instants are seconds since the begin.
type lossReport struct {
	Kind   string  `json:"kind"`
	At     float64 `json:"at_s"`
	Outage float64 `json:"outage_s"`
	Lag    float64 `json:"lag_s,omitempty"`
	// First is from the loss to the next start of any lane; All until every lane that had something to do has started something, or
	// until the next loss; Held the same for those that were paused before.
	First float64 `json:"first_start_s"`
	All   float64 `json:"all_lanes_s"`
	Held  float64 `json:"held_lanes_s,omitempty"`
}

// recovery is how long losses held the lanes up, in seconds.
type recovery struct {
	MedianFirst float64 `json:"median_first_start_s"`
	WorstFirst  float64 `json:"worst_first_start_s"`
	MedianAll   float64 `json:"median_all_lanes_s"`
	WorstAll    float64 `json:"worst_all_lanes_s"`
	Quarantine  float64 `json:"quarantine_s"` // 4/3 of the longest lease
}

const mostTexts = 100

func (w *world) report(i *injector, s settled) *Report {
	c := newChecker(w)
	r := &Report{
		Date: time.Now().UTC().Format(time.DateOnly), Seed: w.options.Seed, For: w.options.For.String(), Drained: seconds(s.took),
		Calls: len(c.calls), Dispatches: w.tasks.Stats().Dispatches, Faults: i.counts, Replays: s.replays, Forced: s.forced, Left: s.left,
	}
	r.Kills = i.counts["kill ingest"] + i.counts["kill executor"]
	for _, x := range c.requests {
		r.Requests.count(x)
	}
	c.requestsEnd(s)
	c.overlaps()
	c.ordered()
	c.rerunsExplained()
	r.Paces = c.paced()
	if s.calls != len(c.calls) {
		c.violate("run again", "%d calls of the target for tasks and replays of what had ended", len(c.calls)-s.calls)
	}
	if s.left > 0 {
		c.violate("tasks left", "%d, although all has ended", s.left)
	}
	r.Losses = c.recoveries()
	r.Recovery = summary(r.Losses)
	r.Reruns, r.Exceptions, r.Broken = c.reruns, c.exceptions, c.counts
	r.Violations = c.violations[:min(len(c.violations), mostTexts)]
	return r
}

func (n *requestCounts) count(r *request) {
	n.Submitted++
	if !r.acked.IsZero() {
		n.Acknowledged++
	}
	if r.refused {
		n.Refused++
	}
	switch r.status {
	case "done":
		n.Done++
	case "dead":
		n.Dead++
	case "cancelled":
		n.Cancelled++
	}
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// recoveries measures each loss. A lane had something to do where a request, acknowledged before the loss, was first run after it.
func (c *checker) recoveries() (list []lossReport) {
	slices.SortFunc(c.losses, func(a, b loss) int { return a.at.Compare(b.at) })
	for i, l := range c.losses {
		r := lossReport{Kind: l.kind, At: seconds(l.at.Sub(c.w.log.began)), Outage: seconds(l.up.Sub(l.at)), Lag: seconds(l.at.Sub(l.from))}
		until := time.Now()
		if i+1 < len(c.losses) {
			until = c.losses[i+1].at
		}
		waiting := map[string]bool{}
		for _, q := range c.requests {
			if calls := c.bySerial[q.serial]; !q.acked.IsZero() && q.acked.Before(l.at) && len(calls) > 0 && calls[0].start.After(l.at) {
				waiting[q.lane.key] = true
			}
		}
		begun := map[string]bool{}
		for _, x := range c.calls {
			if x.start.Before(l.up) || x.start.After(until) || begun[x.lane] {
				continue
			}
			begun[x.lane] = true
			if r.First == 0 {
				r.First = seconds(x.start.Sub(l.at))
			}
			switch {
			case waiting[x.lane] && strings.HasPrefix(x.lane, "held-"):
				r.Held = seconds(x.start.Sub(l.at))
			case waiting[x.lane]:
				r.All = seconds(x.start.Sub(l.at))
			}
		}
		list = append(list, r)
	}
	return list
}

// summary leaves out losses that were followed by another before anything had started, or where nothing waited.
func summary(list []lossReport) recovery {
	r := recovery{Quarantine: seconds(shortLease * 4 / 3)}
	var first, all []float64
	for _, l := range list {
		if l.First > 0 {
			first = append(first, l.First)
		}
		if l.All > 0 {
			all = append(all, l.All)
		}
	}
	r.MedianFirst, r.WorstFirst = middle(first)
	r.MedianAll, r.WorstAll = middle(all)
	return r
}

// middle returns the median and the greatest of some figures, 0 of none.
func middle(figures []float64) (median, greatest float64) {
	if len(figures) == 0 {
		return 0, 0
	}
	slices.Sort(figures)
	return figures[len(figures)/2], figures[len(figures)-1]
}

// Err is nil where every promise was kept.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("chaos: seed %d broke promises, %s; the processes' lines are in %s", r.Seed, counted(r.Broken), r.Dir)
}

// Table is the report for a person.
func (r *Report) Table() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "%s of faults, seed %d, then %.1f s until all had ended", r.For, r.Seed, r.Drained)
	line("requests", "%d submitted, %d acknowledged: %d done, %d dead, %d cancelled", r.Requests.Submitted, r.Requests.Acknowledged, r.Requests.Done, r.Requests.Dead, r.Requests.Cancelled)
	line("calls of the target", "%d, for %d dispatches", r.Calls, r.Dispatches)
	line("faults", "%s", counted(r.Faults))
	line("processes killed", "%d", r.Kills)
	line("losses of Redis", "%d; next start after %.1f s (median, worst %.1f), every lane after %.1f s (worst %.1f); quarantine %.1f s", len(r.Losses),
		r.Recovery.MedianFirst, r.Recovery.WorstFirst, r.Recovery.MedianAll, r.Recovery.WorstAll, r.Recovery.Quarantine)
	line("run again", "%s", counted(r.Reruns))
	line("in stated windows", "%s", counted(r.Exceptions))
	for _, name := range slices.Sorted(maps.Keys(r.Paces)) {
		p := r.Paces[name]
		line("pace of "+name, "%d ms, least %d ms in %d pairs of grants (%d ms at the target)", p.Spacing, p.Least, p.Pairs, p.AtTarget)
	}
	line("replays", "%d, byte for byte; %d tasks of what had ended delivered early, %d left", r.Replays, r.Forced, r.Left)
	line("promises broken", "%s", counted(r.Broken))
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	return b.String()
}

func counted(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}

// Write writes the report as JSON.
func (r *Report) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
