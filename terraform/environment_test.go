package terraform_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/bundle"
)

// unset are variables that a function may read and Terraform does not set, and why.
var unset = map[string]string{
	"K_SERVICE":               "Cloud Run's own",
	"SERIATIM_CONFIG_FILE":    "instead of SERIATIM_CONFIG, for local use",
	"SERIATIM_TASKS_ENDPOINT": "for local use",
	"SERIATIM_AUTH":           "for local use",
	"FIRESTORE_EMULATOR_HOST": "for local use",
}

// ingestUnset is what ingest may read beside, as both functions read one configuration.
const ingestUnset = "SERIATIM_SWEEP_SERVICE_ACCOUNT"

func TestFunctionsReadWhatTerraformSets(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	for _, name := range []string{"ingest", "executor"} {
		env := environmentOf(t, s, name)
		env["SERIATIM_REDIS_CA"] = certificate(t)
		read := map[string]bool{}
		config, err := bundle.FromEnv(func(name string) (string, bool) {
			read[name] = true
			value, ok := env[name]
			return value, ok
		})
		if err != nil {
			t.Fatalf("%s refuses the environment that Terraform sets: %v", name, err)
		}
		if want := s.get(t, "google_service_account.tasks", "email"); config.Callers.Tasks != want || config.Callers.Off {
			t.Errorf("%s lets in %q (off: %t), want %q", name, config.Callers.Tasks, config.Callers.Off, want)
		}
		for variable := range read {
			if _, set := env[variable]; !set && unset[variable] == "" && (name == "executor" || variable != ingestUnset) {
				t.Errorf("%s reads %s, which Terraform does not set", name, variable)
			}
		}
		for variable := range env {
			if !read[variable] {
				t.Errorf("Terraform sets %s, which %s does not read", variable, name)
			}
			if variable != "K_SERVICE" && unset[variable] != "" {
				t.Errorf("Terraform sets %s of %s, which is %s", variable, name, unset[variable])
			}
		}
	}
}

// named are names in the code of variables that the functions do not read.
var named = map[string]string{
	"SERIATIM_REQUIRE_REAL": "of tests",
}

// TestNoVariableIsReadElsewhere looks for names of our variables in the code that bundle.FromEnv did not ask for.
func TestNoVariableIsReadElsewhere(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	_, _ = bundle.FromEnv(func(name string) (string, bool) { read[name] = true; return "", false })
	read["SERIATIM_CACHE_REDIS_URL"] = true // asked for
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(read)), func(name string) bool { return !strings.HasPrefix(name, "SERIATIM_") })
	got := map[string]bool{}
	name := regexp.MustCompile(`^SERIATIM_[A-Z_]+$`)
	for literal := range literals(t, "../functions", "../shared") {
		if name.MatchString(literal) && named[literal] == "" {
			got[literal] = true
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("variables in the code (-asked for by bundle.FromEnv +named):\n%s", diff)
	}
}

// literals returns the string literals of the code below the folders, without tests.
func literals(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						all[text] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
