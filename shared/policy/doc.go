// Package policy reads the configuration document of API.md section 2: which
// targets there are, and by which policy the lane of a key runs.
//
// Decoding is strict. Unknown and repeated fields, wrong types, values out of
// bounds, lanes that no key can reach and names that lead nowhere are refused
// at start, all at once, each by its path ([Faults]). A field that is left
// out has its default; one that is given counts as given, also when it is
// zero. A field with no value at all is a mistake.
//
// The document is YAML 1.2 or JSON, without anchors, aliases, merge keys and
// tags. Any string in it may be {env: NAME}, the value of a variable.
// Durations are Go durations ("1.5s", "0s"), rounded up to whole milliseconds,
// the unit of time in Redis.
//
// The tree comes from goccy/go-yaml, which keeps positions and reports syntax
// errors by line and column. Its decoder into structs stops at the first
// fault, so the tree is read here.
package policy
