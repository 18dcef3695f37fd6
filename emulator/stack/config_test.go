package stack_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/stack"
)

// A production document has its secrets in the environment. What the functions read there is the emulator's word alone: a
// developer's shell may name another Redis, Firestore or document.
func TestADocumentsVariablesComeFromTheLookup(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header }))
	t.Cleanup(target.Close)
	environment := map[string]string{
		"BILLING_KEY": "a key", "SAMPLE_URL": "not the sample target", "K_SERVICE": "ingest", "SERIATIM_CONFIG_FILE": "/nowhere",
		"SERIATIM_FIRESTORE": "not a database", "FIRESTORE_EMULATOR_HOST": "not an address",
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	s, err := stack.Start(t.Context(), stack.Options{
		Config: func(string) string {
			return "targets:\n  billing: {url: '" + target.URL + "', headers: {X-Api-Key: {env: BILLING_KEY}}}\n  sample: {url: {env: SAMPLE_URL}}\n" +
				"lanes: [{match: '*', target: billing, spacing: 0s}]\n"
		},
		Lookup: func(name string) (string, bool) {
			mu.Lock()
			defer mu.Unlock()
			asked[name] = true
			value, ok := environment[name]
			return value, ok
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	resp, err := http.Post(s.URL+"/v1/lanes/k/requests", "text/plain", strings.NewReader("x")) //nolint:noctx // it ends with the server
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("submit: %s, want 200", resp.Status)
	}
	if got := (<-headers).Get("X-Api-Key"); got != "a key" {
		t.Errorf("X-Api-Key %q, want that of the lookup", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]bool{"BILLING_KEY": true}, asked); diff != "" {
		t.Errorf("asked of the lookup (-want +got):\n%s", diff)
	}
}

func TestAVariableThatNobodySetsIsNamed(t *testing.T) {
	t.Parallel()
	s, err := stack.Start(t.Context(), stack.Options{Config: func(string) string {
		return "targets: {billing: {url: {env: BILLING_URL}}}\nlanes: [{match: '*', target: billing, spacing: 0s}]\n"
	}})
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "BILLING_URL") {
		t.Errorf("error %v, want the variable named", err)
	}
}
