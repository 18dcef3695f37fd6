package policy

import "strings"

// match reports whether s as a whole matches pattern. Every literal between
// two stars takes its first place in s: if any assignment of the stars
// matches, so does this one. No step is ever taken back.
func match(pattern, s string) bool {
	prefix, pattern, star := strings.Cut(pattern, "*")
	if !star {
		return s == prefix
	}
	s, ok := strings.CutPrefix(s, prefix)
	for ok {
		var literal string
		if literal, pattern, star = strings.Cut(pattern, "*"); !star {
			return strings.HasSuffix(s, literal)
		}
		_, s, ok = strings.Cut(s, literal)
	}
	return false
}

// covers reports whether every text that matches narrow matches wide too. It
// reads narrow as a text: its star is no literal of wide, so only a star of
// wide can take it up, and then takes whatever stands in its place.
func covers(wide, narrow string) bool { return match(wide, narrow) }
