package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/policy"
)

// FuzzParse: any text gives either a document that keeps its own promises or
// faults, and never a panic.
func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		shortest, longest, lane("burst: 0"), target("url: x"), "", "a: *b", "[[[[", "{{{{", "- - - -", "? x", "a: &a [*a]", "--- |\n", "<<: {}",
		"targets: {t: {url: {env: URL}}}\nlanes: [{match: {env: PATTERN}, target: t, spacing: {env: SPACING}}]",
		"origins: {o: {max_bytes: KiB, vary: ['', x]}}\ncallers: [{match: '*', keys: [], allow: [submit]}]",
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := policy.Parse([]byte(text), environment(vars), policy.RefuseLiteralSecrets())
		if err != nil {
			var faults policy.Faults
			if !errors.As(err, &faults) || len(faults) == 0 || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want faults that tell no secret", err)
			}
			return
		}
		checkPromises(t, doc)
	})
}

func checkPromises(t *testing.T, doc *policy.Document) {
	t.Helper()
	if len(doc.Lanes) == 0 || len(doc.Targets) == 0 {
		t.Error("a document without lanes or targets is accepted")
	}
	for i, l := range doc.Lanes {
		// A key that only this lane's literals are made of reaches it.
		if got, ok := doc.Lane(strings.ReplaceAll(l.Match, "*", "\x00")); !ok || got != l {
			t.Errorf("no key reaches lane %d, %q", i, l.Match)
		}
		for _, name := range append([]string{l.Target}, l.Targets...) {
			if doc.Targets[name] == nil {
				t.Errorf("lane %d names %q, which is no target", i, name)
			}
		}
		if l.Spacing < 0 || l.Spacing%1e6 != 0 || l.Burst < 1 || l.Concurrency < 1 || l.Lease <= 0 || l.Backoff.Min > l.Backoff.Max {
			t.Errorf("lane %d is out of bounds: %+v", i, l)
		}
	}
}

// The YAML parser calls itself for every level.
func TestParseDeepNesting(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"[", "{", "{a: ", "- ", "a:\n ", "&a ", "!t "} {
		doc := strings.Repeat(level, 2048/len(level))
		if _, err := policy.Parse([]byte(doc), environment(nil)); err == nil {
			t.Errorf("2 KiB of %q are accepted", level)
		}
	}
}
