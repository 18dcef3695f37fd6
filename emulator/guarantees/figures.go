package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// figures is the text between the two comments.
func figures(s simulation, c chaos) string {
	var b strings.Builder
	b.WriteString("\n" + s.text() + "\n" + c.text() + "\n")
	if rows := kinds(s.Exceptions, c.Exceptions); len(rows) > 0 {
		b.WriteString("What fell into a window, in these two runs:\n\n| window | simulation | processes |\n|---|---|---|\n")
		for _, kind := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, cell(s.Exceptions, kind), cell(c.Exceptions, kind))
		}
		b.WriteString("\n")
	}
	if rows := kinds(s.Faults, c.Faults); len(rows) > 0 {
		b.WriteString("Faults by kind:\n\n| fault | simulation | processes |\n|---|---|---|\n")
		for _, kind := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, cell(s.Faults, kind), cell(c.Faults, kind))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s simulation) text() string {
	if s.Requests.total == 0 {
		return "**Simulation.** No run is recorded.\n"
	}
	return fmt.Sprintf("**Simulation**%s. %s acknowledged requests of %s seeds, the real code of both functions, %s steps, %s faults, %s losses of Redis "+
		"and %s rollbacks: **%s**, %s exceptions in the windows. Of %s mutations, each a rule taken out or a defect put in, %s are noticed by a test.\n",
		on(s.Date), thousands(s.Requests.total), thousands(s.Seeds.total), thousands(s.Steps.total), thousands(s.Faults.total),
		thousands(s.Losses.total), thousands(s.Rollbacks.total), violations(s.Violations.total), thousands(s.Exceptions.total), thousands(s.mutations), thousands(s.noticed))
}

func (c chaos) text() string {
	if c.Requests.Acknowledged == 0 {
		return "**Real processes.** No run is recorded.\n"
	}
	return fmt.Sprintf("**Real processes**%s. %s under load, %s acknowledged requests, %s faults, %s kills of a function, %s losses of Redis: **%s**, "+
		"%s exceptions in the windows. %s calls of the target, %s of them runs again that a fault explains. From a loss to the next start %s s in the median, "+
		"%s s at worst; the quarantine was %s s.\n",
		on(c.Date), c.For, thousands(c.Requests.Acknowledged), thousands(c.Faults.total), thousands(c.Kills), thousands(c.Losses.total),
		violations(c.Violations.total), thousands(c.Exceptions.total), thousands(c.Calls), thousands(c.Reruns.total), short(c.Recovery.MedianFirst),
		short(c.Recovery.WorstFirst), short(c.Recovery.Quarantine))
}

func on(date string) string {
	if date == "" {
		return ""
	}
	return " (" + date + ")"
}

func kinds(a, b tally) []string {
	all := map[string]bool{}
	for _, t := range []tally{a, b} {
		for kind := range t.byKind {
			all[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func cell(t tally, kind string) string {
	if n, ok := t.byKind[kind]; ok {
		return thousands(n)
	}
	return ""
}

// thousands writes n with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func violations(n int) string {
	if n == 1 {
		return "1 violation"
	}
	return thousands(n) + " violations"
}

func short(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 1, 64) }
