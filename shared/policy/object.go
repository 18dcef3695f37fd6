package policy

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// object is a mapping. Its fields are taken by the methods below, which
// return the default of a field that is left out; done reports the rest.
type object struct {
	value
	fields map[string]value
	names  []string // in the document's order
	known  map[string]bool
}

// plain names stand in a path as they are; others are quoted.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// object reads a mapping; repeated fields are reported, the first one counts.
func (v value) object() (object, bool) {
	o := object{value: v, fields: map[string]value{}, known: map[string]bool{}}
	mapping, ok := v.node.(*ast.MappingNode)
	if !ok {
		v.wrongType("a mapping")
		return o, false
	}
	for _, pair := range mapping.Values {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			v.fault("the field name %s is not a string; YAML merge keys are not allowed", pair.Key.GetToken().Value)
			continue
		}
		field := value{d: v.d, path: v.child(key.Value), node: pair.Value}
		if _, twice := o.fields[key.Value]; twice {
			field.fault("is given more than once")
			continue
		}
		o.fields[key.Value] = field
		o.names = append(o.names, key.Value)
	}
	return o, true
}

func (v value) child(name string) string {
	switch {
	case !plain.MatchString(name):
		return v.path + "[" + strconv.Quote(name) + "]"
	case v.path == "":
		return name
	default:
		return v.path + "." + name
	}
}

// take returns a field and marks it known.
func (o object) take(name string) (value, bool) {
	o.known[name] = true
	v, ok := o.fields[name]
	return v, ok
}

// require reports those of the fields that are left out.
func (o object) require(names ...string) {
	for _, name := range names {
		if _, ok := o.fields[name]; !ok {
			o.d.fault(o.child(name), "is required")
		}
	}
}

// done reports the fields that nobody took.
func (o object) done() {
	for _, name := range o.names {
		if !o.known[name] {
			o.fields[name].fault("is not a field; known are %s",
				strings.Join(slices.Sorted(maps.Keys(o.known)), ", "))
		}
	}
}

func (o object) text(name string) (text, bool) {
	v, ok := o.take(name)
	if !ok {
		return text{}, false
	}
	return v.text()
}

// list returns nil, false for a field that is left out, or is no list.
func (o object) list(name string) ([]value, bool) {
	v, ok := o.take(name)
	if !ok {
		return nil, false
	}
	return v.list()
}

// texts is list for strings; a wrong one is the zero text, to keep the places
// of the others.
func (o object) texts(name string) ([]text, bool) {
	items, ok := o.list(name)
	all := make([]text, len(items))
	for i, item := range items {
		all[i], _ = item.text()
	}
	return all, ok
}

func (o object) boolean(name string, byDefault bool) bool {
	v, ok := o.take(name)
	if !ok {
		return byDefault
	}
	n, ok := v.node.(*ast.BoolNode)
	if !ok {
		v.wrongType("true or false")
		return byDefault
	}
	return n.Value
}

// integer is 1 to high.
func (o object) integer(name string, byDefault, high int) int {
	v, ok := o.take(name)
	if !ok {
		return byDefault
	}
	n, ok := v.integer()
	switch {
	case !ok:
		v.wrongType("an integer")
	case n < 1 || n > int64(high):
		v.fault("is %d, want 1 to %d", n, high)
	default:
		return int(n)
	}
	return byDefault
}

// share reads a number from 0 to 1.
func (o object) share(name string, byDefault float64) float64 {
	v, ok := o.take(name)
	if !ok {
		return byDefault
	}
	var x float64
	switch n := v.node.(type) {
	case *ast.FloatNode:
		x = n.Value
	default:
		whole, ok := v.integer()
		if !ok {
			v.wrongType("a number")
			return byDefault
		}
		x = float64(whole)
	}
	if !(x >= 0 && x <= 1) {
		v.fault("is %v, want 0 to 1", x)
		return byDefault
	}
	return x
}

// integer reads v if it is one; what exceeds an int64 becomes the largest.
func (v value) integer() (int64, bool) {
	n, ok := v.node.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch i := n.Value.(type) {
	case int64:
		return i, true
	case uint64:
		return int64(min(i, math.MaxInt64)), true
	}
	return 0, false
}

func (o object) duration(name string, byDefault, low, high time.Duration) time.Duration {
	t, ok := o.text(name)
	if !ok {
		return byDefault
	}
	dur, err := time.ParseDuration(t.s)
	switch {
	case err != nil:
		t.fault("%v is not a duration: want a number with a unit, such as 250ms, 1.5s or 10m", t)
	case dur < low || dur > high:
		t.fault("%v is out of bounds: want %s to %s", t, short(low), short(high))
	default:
		return (dur + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return byDefault
}

// short is d as people write it: 24h, not 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// choose reads one of a few words; the first of them is the default.
func choose[T ~string](o object, name string, among ...T) T {
	t, ok := o.text(name)
	switch {
	case !ok:
	case slices.Contains(among, T(t.s)):
		return T(t.s)
	default:
		t.fault("%v is not one of %s", t, words(among))
	}
	return among[0]
}

func words[T ~string](among []T) string {
	list := make([]string, len(among))
	for i, w := range among {
		list[i] = string(w)
	}
	return strings.Join(list, ", ")
}
