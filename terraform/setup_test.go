// Package terraform_test checks the Terraform configuration, and that it fits the code: sources, environment, permissions, logs.
// Terraform runs with mocked providers, from the registry or from the offline mirror beside the repository.
package terraform_test

import (
	"bytes"
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
	files := []string{"go.mod", "go.sum", "functions/ingest/function.go", "functions/ingest/openapi.yaml", "functions/executor/function.go", "shared/bundle/function.go"}
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
