// Package functions_test holds the contract between the source tree and the Go buildpack of Cloud Functions: each function is
// staged as Terraform uploads it, checked by the buildpack's rules, built with the main that the framework generates, and
// called.
package functions_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/seriatim/seriatim"
	framework = "github.com/GoogleCloudPlatform/functions-framework-go/functions"
)

// entryPoints are the names under which the functions register, by folder.
var entryPoints = map[string]string{"ingest": "Ingest", "executor": "Executor"}

// stage lays a function out as it is uploaded: go.mod, go.sum and shared/, and the function's own files lifted to the root,
// without tests and their data.
func stage(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} {
		copyFile(t, filepath.Join("..", file), filepath.Join(dir, file))
	}
	copyTree(t, filepath.Join("..", "shared"), filepath.Join(dir, "shared"))
	copyTree(t, name, dir)
	return dir
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !strings.HasSuffix(path, "_test.go"):
			copyFile(t, path, filepath.Join(to, rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkRoot replays what the buildpack looks for in the root folder of an upload.
func checkRoot(dir string) (problem string) {
	packages, err := parser.ParseDir(token.NewFileSet(), dir, nil, parser.ImportsOnly) //nolint:staticcheck // what the buildpack itself calls
	switch {
	case err != nil:
		return err.Error()
	case len(packages) == 0:
		return "no package in user code directory"
	case len(packages) > 1:
		return "multiple packages in user code directory: " + strings.Join(slices.Sorted(maps.Keys(packages)), ", ")
	}
	for name, pkg := range packages {
		if name == "main" {
			return "the root package is main"
		}
		for _, file := range pkg.Files {
			for _, spec := range file.Imports {
				if spec.Path.Value == `"`+framework+`"` {
					return ""
				}
			}
		}
	}
	return "no file of the root imports " + framework + " itself"
}

func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestStagedFunctionsKeepTheBuildpacksRules(t *testing.T) {
	t.Parallel()
	for name := range entryPoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := stage(t, name)
			if problem := checkRoot(dir); problem != "" {
				t.Errorf("the buildpack refuses %s: %s", name, problem)
			}
			if got := goCommand(t, dir, "list", "-m"); got != module || !strings.Contains(strings.Split(got, "/")[0], ".") {
				t.Errorf("go list -m: %q, want %q with a dot in its first element", got, module)
			}
			if got := goCommand(t, dir, "list", "-f", "{{.Module.Path}}", framework); got == "" {
				t.Errorf("the framework is not in go.mod: the buildpack would add a version of its own")
			}
		})
	}
}

func TestTheRulesRefuseBadLayouts(t *testing.T) {
	t.Parallel()
	const good = "package ingest\nimport _ \"" + framework + "\"\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an external test package": {map[string]string{"a.go": good, "a_test.go": "package ingest_test\n"}, "multiple packages"},
		"an ignored main":          {map[string]string{"a.go": good, "gen.go": "//go:build ignore\n\npackage main\n"}, "multiple packages"},
		"no Go file":               {nil, "no package"},
		"the import elsewhere":     {map[string]string{"a.go": "package ingest\n"}, "itself"},
		"a main":                   {map[string]string{"a.go": strings.Replace(good, "ingest", "main", 1)}, "main"},
		"a good one":               {map[string]string{"a.go": good}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := checkRoot(dir)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// allowed says, per folder, which of our packages it may import.
var allowed = map[string][]string{
	"functions/ingest": {"shared/"}, "functions/executor": {"shared/"},
	"shared/slot": {"shared/journal"}, "shared/journal": {}, "shared/problem": {"shared/logging"}, "shared/logging": {}, "shared/policy": {}, "shared/redisconn": {},
	"shared/concurrency": {"shared/clock", "shared/lanekey", "shared/target"},
	"shared/clock":       {}, "shared/caller": {}, "shared/shutdown": {}, "shared/lanekey": {},
	"shared/idempotency": {"shared/firestoreconn", "shared/redisconn"}, "shared/record": {"shared/firestoreconn"}, "shared/firestoreconn": {},
	"shared/httpcache": {}, "shared/origin": {"shared/collapse", "shared/httpcache", "shared/policy"},
	"shared/taskqueue": {"shared/problem"}, "shared/target": {"shared/lanekey"}, "shared/collapse": {"shared/problem"},
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for folder, may := range allowed {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join("..", folder)); err != nil {
				t.Skipf("%s is not there", folder)
			}
			deps := strings.Fields(goCommand(t, "..", "list", "-deps", "./"+folder))
			for _, dep := range deps {
				own, ours := strings.CutPrefix(dep, module+"/")
				if !ours || own == folder {
					continue
				}
				if !slices.ContainsFunc(may, func(prefix string) bool { return strings.HasPrefix(own, prefix) }) {
					t.Errorf("%s imports %s", folder, own)
				}
			}
		})
	}
}
