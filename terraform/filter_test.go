package terraform_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// filter is a filter of Cloud Logging, of the part of its language that the metrics use: comparisons of a path with a number, a
// string or (a OR b), side by side.
type filter []comparison

type comparison struct {
	path    string
	op      string
	strings []string
	number  *float64
}

var comparisonPattern = regexp.MustCompile(`^([A-Za-z_.]+)(=|>=)("[^"\\]*"|[0-9]+|\("[^"\\]*"(?: OR "[^"\\]*")*\))(?: |$)`)

func parseFilter(text string) (filter, error) {
	var f filter
	for text != "" {
		m := comparisonPattern.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("no comparison: %s", text)
		}
		c := comparison{path: m[1], op: m[2]}
		if number, err := strconv.ParseFloat(m[3], 64); err == nil {
			c.number = &number
		} else {
			for alternative := range strings.SplitSeq(strings.Trim(m[3], "()"), " OR ") {
				c.strings = append(c.strings, strings.Trim(alternative, `"`))
			}
		}
		f, text = append(f, c), text[len(m[0]):]
	}
	return f, nil
}

// at returns the field of a path of names between dots.
func at(entry map[string]any, path string) (any, bool) {
	var v any = entry
	for name := range strings.SplitSeq(path, ".") {
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = fields[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

func (f filter) matches(entry map[string]any) bool {
	for _, c := range f {
		v, ok := at(entry, c.path)
		if !ok || !c.holds(v) {
			return false
		}
	}
	return true
}

func (c comparison) holds(v any) bool {
	number, isNumber := v.(float64)
	switch {
	case c.number != nil && c.op == ">=":
		return isNumber && number >= *c.number
	case c.number != nil:
		return isNumber && number == *c.number
	default:
		return c.op == "=" && slices.Contains(c.strings, fmt.Sprint(v))
	}
}
