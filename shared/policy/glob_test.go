package policy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the glob as a regular expression.
func model(pattern string) *regexp.Regexp {
	literals := strings.Split(pattern, "*")
	for i, l := range literals {
		literals[i] = regexp.QuoteMeta(l)
	}
	return regexp.MustCompile(`\A(?s:` + strings.Join(literals, ".*") + `)\z`)
}

// Few letters, so that patterns and texts often meet.
var (
	patterns = rapid.StringOfN(rapid.RuneFrom([]rune("ab*é")), 0, 12, -1)
	literals = rapid.StringOfN(rapid.RuneFrom([]rune("ab/.é\n")), 0, 12, -1)
)

// instance puts some text in the place of every star.
func instance(t *rapid.T, pattern string) string {
	var b strings.Builder
	for _, r := range pattern {
		if r == '*' {
			b.WriteString(literals.Draw(t, "star"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, key string
		want         bool
	}{
		{"*", "", true},
		{"*", "any/thing\xff\x00", true},
		{"", "", true},
		{"", "a", false},
		{"a*", "a", true},
		{"tenant-*:product-*", "tenant-42:product-7", true},
		{"tenant-*:product-*", "tenant-42:product", false},
		{"a*a", "a", false}, // prefix and suffix do not share a byte
		{"*ab*ab", "ab", false},
		{"*ab*ab", "abab", true},
		{"a**b", "ab", true},
		{"a?[b]", "a?[b]", true}, // only the star is special
		{"a?[b]", "axb", false},
		{"A", "a", false},
	} {
		if got := match(tt.pattern, tt.key); got != tt.want {
			t.Errorf("match(%q, %q) = %v, want %v", tt.pattern, tt.key, got, tt.want)
		}
	}

	t.Run("it agrees with a regular expression on any text", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			pattern, key := patterns.Draw(t, "pattern"), literals.Draw(t, "key")
			if got, want := match(pattern, key), model(pattern).MatchString(key); got != want {
				t.Fatalf("match(%q, %q) = %v, want %v", pattern, key, got, want)
			}
		})
	})

	t.Run("it accepts every instance of a pattern", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			pattern := patterns.Draw(t, "pattern")
			if key := instance(t, pattern); !match(pattern, key) {
				t.Fatalf("match(%q, %q) is false", pattern, key)
			}
		})
	})
}

func TestCovers(t *testing.T) {
	t.Parallel()

	t.Run("whatever matches the covered pattern matches the covering one", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			// A pattern with some of it taken into a star is often wider.
			begin, middle, end := patterns.Draw(t, "begin"), patterns.Draw(t, "middle"), patterns.Draw(t, "end")
			narrow, wide := begin+middle+end, begin+"*"+end
			if rapid.Bool().Draw(t, "unrelated") {
				wide = patterns.Draw(t, "wide")
			}
			if !covers(wide, narrow) {
				return
			}
			if key := instance(t, narrow); !model(wide).MatchString(key) {
				t.Fatalf("%q matches %q, which %q is said to cover", key, narrow, wide)
			}
		})
	})

	t.Run("a pattern that is not covered has a key of its own", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			wide, narrow := patterns.Draw(t, "wide"), patterns.Draw(t, "narrow")
			if covers(wide, narrow) {
				return
			}
			key := strings.ReplaceAll(narrow, "*", "z") // a letter of no pattern
			if !model(narrow).MatchString(key) || model(wide).MatchString(key) {
				t.Fatalf("%q tells %q from %q no better", key, narrow, wide)
			}
		})
	})
}

// Stars do not multiply the work: a matcher that goes back takes longer than
// the test may run.
func TestMatchManyStars(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("a*", 10_000) + "b"
	if match(pattern, strings.Repeat("a", 100_000)) {
		t.Error("a text without b matches a pattern that ends with b")
	}
}
