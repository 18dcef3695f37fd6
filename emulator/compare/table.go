package compare

import (
	"fmt"
	"strings"
	"time"
)

const heading = `                          dispatches  operations    $ per  Redis per  makespan  out of   over-    too      quiet wait, s
                         per request  per request million    request   / ideal   order    laps   soon      p50      p99
`

// legend says what the columns are.
var legend = fmt.Sprintf(`operations   billed by Cloud Tasks: calls of its API and dispatches
cost         at $%.2f a million operations (list price, %s; the first million of a month is free)
Redis        commands as a client sends them; a script is one
makespan     below 1 is possible for who breaks order or pace
out of order starts before another request of the key that had been acknowledged before this one was sent
overlaps     starts while another request of the key ran
too soon     starts more than %v before the pace allows
quiet wait   from sending a request to its start, for the quiet tenants
`, price, priceDate, tolerance)

// Table is the comparison for a terminal of 120 columns.
func (r Report) Table() string {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%s\nideal makespan %s%s\n%s", result.heading(), people(result.Ideal), result.ideally(), heading)
		for _, row := range result.Rows {
			fmt.Fprintf(&b, "%-25s %10.2f %12.2f %8.2f %10.2f %9.3f %7d %7d %6d%s\n", row.Strategy, row.Dispatches, row.Operations,
				row.Dollars, row.Redis, row.Makespan, row.Inversions, row.Overlaps, row.Early, row.Quiet.columns())
		}
		b.WriteString("\n")
	}
	return b.String() + legend
}

func (r Result) heading() string {
	if r.Late {
		return r.Title + "; 0.2 % of dispatches 30-180 s late"
	}
	return r.Title
}

func (r Result) ideally() string {
	if r.Quiet == nil {
		return ""
	}
	return fmt.Sprintf(", ideal quiet wait p50 %.2f s, p99 %.2f s", r.Quiet.P50, r.Quiet.P99)
}

func (w *Wait) columns() string {
	if w == nil {
		return "        -        -"
	}
	return fmt.Sprintf("%9.2f%9.2f", w.P50, w.P99)
}

// Markdown is the result of one load as a table for a page.
func (r Result) Markdown() string {
	var b strings.Builder
	b.WriteString("| | dispatches per request | Cloud Tasks, $ per million requests | Redis commands per request | makespan / ideal | out of order | overlaps | too soon | quiet tenants wait, p50 / p99 |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.3f | %d | %d | %d | %s |\n", row.Strategy, row.Dispatches, row.Dollars, row.Redis,
			row.Makespan, row.Inversions, row.Overlaps, row.Early, row.Quiet.cell())
	}
	return b.String()
}

func (w *Wait) cell() string {
	if w == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f / %.1f s", w.P50, w.P99)
}

// people is a time no finer than they care for.
func people(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
