package compare

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"text/template"
	"time"
)

// palette is the colours of a picture. Blue and orange stay apart for the colour-blind, and shape tells the same.
type palette struct {
	Name                                    string
	Paper, Ink, Faint, Line, Good, Bad, Bar string
}

// palettes are light and dark.
func palettes() []palette {
	return []palette{
		{"light", "#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#0969da", "#bc4c00", "#818b98"},
		{"dark", "#0d1117", "#f0f6fc", "#9198a1", "#3d444d", "#58a6ff", "#f0883e", "#656c76"},
	}
}

//go:embed picture.svg.tmpl
var pictureText string

var pictureTemplate = template.Must(template.New("picture").Parse(pictureText))

// The geometry of a picture, in its own units.
const (
	pictureWidth          = 960
	plotWidth, plotHeight = 160, 190
	firstPlot, plotStep   = 62, 182
	barBelow, textBelow   = 14, 42
	textStep              = 18
)

// panel is one strategy of a picture.
type panel struct {
	X         int
	Name      string
	Good, Bad string // paths of points
	Bar       int
	Figures   []figure
}

// figure is one line below a panel.
type figure struct {
	Label, Value string
	Bad          bool
	Y            int
}

type tick struct {
	Y    int
	Text string
}

// svg draws when each of the thousand started, for every strategy.
func (r Result) svg(p palette) string {
	last, most := time.Duration(0), 0.0
	for _, row := range r.Rows {
		for _, s := range row.starts {
			last = max(last, s.at)
		}
		most = max(most, row.Dispatches)
	}
	scale := float64(plotHeight) / float64(last)
	var panels []panel
	for i, s := range strategies() {
		row := r.Rows[i]
		a := panel{X: firstPlot + i*plotStep, Name: s.Short, Bar: max(1, int(row.Dispatches/most*plotWidth)), Figures: row.figures()}
		a.Good, a.Bad = points(row.starts, scale)
		panels = append(panels, a)
	}
	var b strings.Builder
	err := pictureTemplate.Execute(&b, map[string]any{
		"Theme": p, "Title": r.heading(), "Load": r.Title, "Late": r.Late, "Description": r.description(), "Panels": panels, "Ticks": ticks(last, scale),
		"Width": pictureWidth, "PlotWidth": plotWidth, "BarY": plotHeight + barBelow,
	})
	if err != nil {
		panic(err) // the template is ours, and a test draws it
	}
	return b.String()
}

// points are two paths: dots for starts as they should be, crosses for the others. What falls on one pixel is drawn once.
func points(starts []start, scale float64) (good, bad string) {
	type point struct {
		x, y int
		bad  bool
	}
	var dots, crosses strings.Builder
	drawn := map[point]bool{}
	for _, s := range starts {
		p := point{s.rank * plotWidth / 1000, plotHeight - int(math.Round(float64(s.at)*scale)), s.bad}
		switch {
		case drawn[p]:
		case p.bad:
			fmt.Fprintf(&crosses, "M%d %dh4m-2-2v4", p.x-2, p.y)
		default:
			fmt.Fprintf(&dots, "M%d %dh0", p.x, p.y)
		}
		drawn[p] = true
	}
	return dots.String(), crosses.String()
}

func (r Row) figures() (lines []figure) {
	add := func(bad bool, label, format string, value any) {
		lines = append(lines, figure{label, fmt.Sprintf(format, value), bad, plotHeight + textBelow + textStep*len(lines)})
	}
	add(false, "dispatches", "%.2f", r.Dispatches)
	add(false, "Cloud Tasks, $", "%.2f", r.Dollars)
	add(r.Inversions > 0, "out of order", "%d", r.Inversions)
	add(r.Overlaps > 0, "overlapping", "%d", r.Overlaps)
	add(r.Early > 0, "too soon", "%d", r.Early)
	if r.Quiet != nil {
		add(false, "quiet wait, p99", "%.1f s", r.Quiet.P99)
	}
	return lines
}

// ticks divide the time into a handful of round steps.
func ticks(last time.Duration, scale float64) (all []tick) {
	step := time.Minute
	for _, step = range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 4 * time.Hour} {
		if last/step <= 5 {
			break
		}
	}
	for at := time.Duration(0); at <= last; at += step {
		text := fmt.Sprintf("%d min", at/time.Minute)
		if step >= time.Hour {
			text = fmt.Sprintf("%d h", at/time.Hour)
		}
		all = append(all, tick{plotHeight - int(float64(at)*scale), text})
	}
	return all
}

// description is the picture in words, for who does not see it.
func (r Result) description() string {
	var b strings.Builder
	b.WriteString("For each of five strategies, a scatter of when each request started over the order of submission.")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, " %s: %.2f dispatches per request, %d starts out of order, %d overlapping, %d too soon.", row.Strategy,
			row.Dispatches, row.Inversions, row.Overlaps, row.Early)
	}
	return b.String()
}
