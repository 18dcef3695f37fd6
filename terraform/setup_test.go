// Package terraform_test checks the Terraform configuration, and that it fits the code: sources, environment, permissions, logs.
// Terraform runs with mocked providers, from the registry or from the offline mirror beside the repository.
package terraform_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// relations is the test file whose one run applies everything to mocks.
const relations = "tests/relations.tftest.hcl"

// tree is a copy of what Terraform reads, to be changed at will.
type tree struct {
	t   *testing.T
	dir string
}

// newTree copies the configuration, and the sources when a test is about them; else a file of each stands for them.
func newTree(t *testing.T, sources bool) *tree {
	t.Helper()
	tr := &tree{t: t, dir: t.TempDir()}
	files := []string{"go.mod", "go.sum", "functions/ingest/function.go", "functions/executor/function.go", "shared/bundle/function.go"}
	if sources {
		files = append(files, "functions/ingest", "functions/executor", "shared")
	}
	for _, file := range append(files, "terraform") {
		tr.copy(file)
	}
	return tr
}

func (tr *tree) copy(name string) {
	tr.t.Helper()
	err := filepath.WalkDir(filepath.Join("..", name), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // somebody's temporary file
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".terraform":
			return filepath.SkipDir
		case d.IsDir() || d.Name() == ".terraform.lock.hcl":
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			tr.write(strings.TrimPrefix(path, "../"), string(data))
		}
		return err
	})
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		tr.t.Fatal(err)
	}
}

// replace changes the first old of a file, which must be there.
func (tr *tree) replace(name, old, with string) {
	tr.t.Helper()
	data, err := os.ReadFile(filepath.Join(tr.dir, name))
	if err != nil {
		tr.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		tr.t.Fatalf("%s has no %q", name, old)
	}
	tr.write(name, strings.Replace(string(data), old, with, 1))
}

// terraform runs a command in the tree's configuration and returns what it prints.
func (tr *tree) terraform(args ...string) (string, error) {
	tr.t.Helper()
	cmd := exec.CommandContext(tr.t.Context(), "terraform", args...)
	cmd.Dir = filepath.Join(tr.dir, "terraform")
	cmd.Env = append(os.Environ(), environment(tr.t)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (tr *tree) init() {
	tr.t.Helper()
	if out, err := tr.terraform("init", "-backend=false", "-no-color"); err != nil {
		tr.t.Fatalf("terraform init: %v\n%s", err, out)
	}
}

var offline struct {
	once      sync.Once
	dir, line string
	err       error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if offline.dir != "" {
		_ = os.RemoveAll(offline.dir)
	}
	os.Exit(code)
}

// environment returns what Terraform's commands need: the offline mirror, where there is one. Without
// Terraform the test is skipped, or fails when SERIATIM_REQUIRE_REAL=1.
func environment(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		if os.Getenv("SERIATIM_REQUIRE_REAL") == "1" {
			t.Fatalf("SERIATIM_REQUIRE_REAL=1, but terraform cannot be run: %v", err)
		}
		t.Skipf("skipped: %v; install terraform", err)
	}
	const install = "../../shared/terraform-offline/install.sh"
	if _, err := os.Stat(install); err != nil {
		return nil
	}
	offline.once.Do(func() {
		// A folder of our own: another run that installs anew would change the checksums under this one.
		if offline.dir, offline.err = os.MkdirTemp("", "terraform-offline"); offline.err != nil {
			return
		}
		cmd := exec.CommandContext(t.Context(), install, offline.dir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		offline.line, offline.err = strings.TrimPrefix(strings.TrimSpace(string(out)), "export "), err
		if err != nil {
			offline.err = errors.Join(err, errors.New(stderr.String()))
		}
	})
	if offline.err != nil {
		t.Fatalf("%s: %v", install, offline.err)
	}
	return []string{offline.line}
}

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
