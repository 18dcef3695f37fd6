package policy

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// decoder makes a Document of the YAML tree. It collects faults and goes on,
// with a zero value in the place of each wrong one.
type decoder struct {
	lookup         func(string) (string, bool)
	refuseLiterals bool
	faults         Faults
}

func (d *decoder) fault(path, format string, args ...any) {
	d.faults = append(d.faults, Fault{Path: path, Message: fmt.Sprintf(format, args...)})
}

// value is one place in the tree.
type value struct {
	d    *decoder
	path string
	node ast.Node
}

func (v value) fault(format string, args ...any) { v.d.fault(v.path, format, args...) }

// wrongType reports that v is not what is wanted there.
func (v value) wrongType(want string) {
	switch v.node.(type) {
	case *ast.AliasNode:
		v.fault("want %s; a text that begins with * needs quotes, and YAML aliases are not allowed", want)
	case *ast.AnchorNode, *ast.TagNode:
		v.fault("want %s; YAML anchors and tags are not allowed", want)
	case *ast.NullNode:
		v.fault("is empty, want %s: give a value, or leave the field out for its default", want)
	default:
		v.fault("want %s, got %s", want, kind(v.node))
	}
}

func kind(node ast.Node) string {
	switch n := node.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	default:
		return "something else"
	}
}

// text is a string of the document, and where it came from.
type text struct {
	value
	s   string
	env string // the variable; empty for a literal
}

// String names t in a message: a literal by itself, a variable by its name.
func (t text) String() string {
	if t.env != "" {
		return "the value of " + t.env
	}
	return strconv.Quote(t.s)
}

// text reads a string that is not empty, or {env: NAME}.
func (v value) text() (text, bool) {
	t := text{value: v}
	switch n := v.node.(type) {
	case *ast.StringNode:
		t.s = n.Value
	case *ast.LiteralNode:
		t.s = n.Value.Value
	case *ast.MappingNode:
		return v.variable()
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		v.fault("want a string, got %s: put it in quotes", kind(n))
		return t, false
	default:
		v.wrongType("a string")
		return t, false
	}
	if t.s == "" {
		v.fault("is an empty string")
	}
	return t, t.s != ""
}

func (v value) variable() (text, bool) {
	o, _ := v.object()
	name, ok := o.fields["env"]
	if len(o.fields) != 1 || !ok {
		v.fault("want a string or {env: NAME}, got another mapping")
		return text{}, false
	}
	n, ok := name.node.(*ast.StringNode)
	if !ok {
		name.wrongType("the name of a variable")
		return text{}, false
	}
	s, _ := v.d.lookup(n.Value)
	if s == "" {
		v.fault("the variable %s is not set, or empty", n.Value)
	}
	return text{value: v, s: s, env: n.Value}, s != ""
}

// list reads a list that may be empty.
func (v value) list() ([]value, bool) {
	seq, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.wrongType("a list")
		return nil, false
	}
	items := make([]value, len(seq.Values))
	for i, node := range seq.Values {
		items[i] = value{d: v.d, path: index(v.path, i), node: node}
	}
	return items, true
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
