package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/policy"
)

func TestDocumentLane(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, `
targets: {t: {url: "http://x"}}
lanes:
  - {match: "tenant-1:*", name: one, target: t, spacing: 1s}
  - {match: "tenant-*:slow", name: slow, target: t, spacing: 1s}
  - {match: "tenant-*", name: tenants, target: t, spacing: 1s}
`)
	for key, want := range map[string]string{
		"tenant-1:slow": "one", "tenant-2:slow": "slow", "tenant-2:a/b": "tenants", "tenant-": "tenants", "tenant": "", "": "", "x": "",
	} {
		l, ok := doc.Lane(key)
		switch {
		case ok != (want != ""):
			t.Errorf("%q: found %v, want %q", key, ok, want)
		case ok && l.Name != want:
			t.Errorf("%q: lane %q, want %q", key, l.Name, want)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, `
targets: {t: {url: "http://x"}}
lanes: [{match: "*", target: t, spacing: 1s}]
callers:
  - {match: "one@x", keys: ["tenant-1*"], allow: [operate, fetch]}
  - {match: "some@x", keys: ["tenant-*", "*-1", "**"], allow: [read]}
  - {match: "all@x", keys: ["tenant-1", "*"], allow: [operate]}
  - {match: "default@x", allow: [operate]}
  - {match: "none@x", keys: [], allow: [operate, fetch]}
`)
	type may struct{ Operate1, Operate2, OperateAll, ReadAll, FetchWithoutLane bool }
	for email, want := range map[string]may{
		"one@x":     {Operate1: true, FetchWithoutLane: true},
		"some@x":    {ReadAll: true},
		"all@x":     {Operate1: true, Operate2: true, OperateAll: true},
		"default@x": {Operate1: true, Operate2: true, OperateAll: true},
		"none@x":    {FetchWithoutLane: true},
		"other@x":   {},
	} {
		got := may{
			doc.Allows(email, policy.Operate, "tenant-1"), doc.Allows(email, policy.Operate, "tenant-2"),
			doc.AllowsOnAll(email, policy.Operate), doc.AllowsOnAll(email, policy.Read), doc.Allows(email, policy.Fetch, ""),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s may (-want +got):\n%s", email, diff)
		}
	}
	doc.Callers = nil
	if !doc.Allows("other@x", policy.Submit, "k") || !doc.AllowsOnAll("other@x", policy.Operate) {
		t.Error("without callers somebody may not")
	}
}
