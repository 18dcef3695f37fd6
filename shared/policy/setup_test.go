package policy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/policy"
)

// environment is a lookup that knows a few variables.
func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// vars are there for every document of these tests.
var vars = map[string]string{
	"URL": "https://env.example/work", "TOKEN": "hunter2-from-env", "EMPTY": "", "SPACING": "3s", "PATTERN": "env:*",
	"SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
}

func mustParse(t *testing.T, doc string, opts ...policy.Option) *policy.Document {
	t.Helper()
	got, err := policy.Parse([]byte(doc), environment(vars), opts...)
	if err != nil {
		t.Fatalf("parse:\n%v\ndocument:\n%s", err, doc)
	}
	return got
}

// wantFaults compares all faults, in their order.
func wantFaults(t *testing.T, doc string, want []string, opts ...policy.Option) {
	t.Helper()
	parsed, err := policy.Parse([]byte(doc), environment(vars), opts...)
	var faults policy.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %v, want faults\n%s", err, doc)
	}
	if parsed != nil {
		t.Errorf("a document comes with the faults: %+v", parsed)
	}
	got := make([]string, len(faults))
	for i, f := range faults {
		got[i] = f.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s\ndocument:\n%s", diff, doc)
	}
}

// lane is a document with one good target t and one lane of these fields.
func lane(fields string) string {
	return "targets: {t: {url: 'http://127.0.0.1/t'}}\nlanes: [{match: '*', target: t, spacing: 1s, " + fields + "}]\n"
}

// target is a document with one good lane and one target t of these fields.
func target(fields string) string {
	return "targets: {t: {" + fields + "}}\nlanes: [{match: '*', target: t, spacing: 1s}]\n"
}
