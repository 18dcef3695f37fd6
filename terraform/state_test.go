package terraform_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

// resource is one of the applied state.
type resource struct {
	Address string         `json:"address"`
	Type    string         `json:"type"`
	Index   any            `json:"index"`
	Values  map[string]any `json:"values"`
}

// state is everything as it was applied to mocks, by address.
type state map[string]resource

// apply runs the relations and returns the state after.
func (tr *tree) apply() state {
	tr.t.Helper()
	tr.init()
	out, err := tr.terraform("test", "-json", "-verbose", "-filter="+relations)
	if err != nil {
		tr.t.Fatalf("terraform test: %v\n%s", err, messages(out))
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			State struct {
				Root struct {
					Resources []resource `json:"resources"`
				} `json:"root_module"`
			} `json:"test_state"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			tr.t.Fatalf("terraform test printed %q: %v", lines.Text(), err)
		}
		if all := line.State.Root.Resources; len(all) > 0 {
			s := state{}
			for _, r := range all {
				s[r.Address] = r
			}
			return s
		}
	}
	tr.t.Fatalf("terraform test printed no state\n%s", messages(out))
	return nil
}

// messages are the texts of Terraform's JSON lines.
func messages(out string) string {
	var texts []string
	for line := range strings.Lines(out) {
		var m struct {
			Message    string `json:"@message"`
			Diagnostic struct {
				Detail string `json:"detail"`
			} `json:"diagnostic"`
		}
		if json.Unmarshal([]byte(line), &m) == nil {
			texts = append(texts, m.Message, m.Diagnostic.Detail)
		}
	}
	return strings.Join(texts, "\n")
}

var applied struct {
	once sync.Once
	s    state
	// staged are the files that the functions' archives must hold, by function and path.
	staged map[string]map[string]string
}

// deployed is the state of the configuration as it is, with all sources; made once.
func deployed(t *testing.T) state {
	t.Helper()
	applied.once.Do(func() {
		tr := newTree(t, true)
		applied.staged = map[string]map[string]string{"ingest": tr.staged("ingest"), "executor": tr.staged("executor")}
		applied.s = tr.apply()
	})
	if applied.s == nil {
		t.Skip("terraform apply to mocks has failed or is skipped in another test")
	}
	return applied.s
}

// get returns a value of a resource by a path of names and indexes, failing when there is none.
func (s state) get(t *testing.T, address string, path ...any) any {
	t.Helper()
	r, ok := s[address]
	if !ok {
		t.Fatalf("no resource %s", address)
	}
	var v any = r.Values
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	if v == nil {
		t.Fatalf("%s has no %v", address, path)
	}
	return v
}

// of returns the resources of a type.
func (s state) of(kind string) []resource {
	var all []resource
	for _, r := range s {
		if r.Type == kind {
			all = append(all, r)
		}
	}
	return all
}
