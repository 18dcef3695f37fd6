package policy_test

import "testing"

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
