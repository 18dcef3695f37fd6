package terraform_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	cloudbuild "google.golang.org/api/cloudbuild/v1"
)

// readBuild decodes cloudbuild.yaml into the API's own type, refusing fields that it does not have.
func readBuild(t *testing.T) *cloudbuild.Build {
	t.Helper()
	text, err := os.ReadFile("../cloudbuild.yaml")
	if err != nil {
		t.Fatal(err)
	}
	converted, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(converted))
	decoder.DisallowUnknownFields()
	build := &cloudbuild.Build{}
	if err := decoder.Decode(build); err != nil {
		t.Fatalf("cloudbuild.yaml is no Build of the Cloud Build API: %v", err)
	}
	return build
}

func step(t *testing.T, id string) *cloudbuild.BuildStep {
	t.Helper()
	for _, s := range readBuild(t).Steps {
		if s.Id == id {
			return s
		}
	}
	t.Fatalf("cloudbuild.yaml has no step %s", id)
	return nil
}

func TestTheBuildIsWellFormed(t *testing.T) {
	t.Parallel()
	build := readBuild(t)
	if build.Options.Logging != "CLOUD_LOGGING_ONLY" || !build.Options.AutomapSubstitutions {
		t.Errorf("options %+v, want CLOUD_LOGGING_ONLY, which an own service account needs, and mapped substitutions", build.Options)
	}
	pinned := regexp.MustCompile(`(:[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+)?|@sha256:[0-9a-f]{64})$`)
	var before []string
	for _, s := range build.Steps {
		if !pinned.MatchString(s.Name) {
			t.Errorf("step %s: image %s is not pinned to a version", s.Id, s.Name)
		}
		for _, id := range s.WaitFor {
			if !slices.Contains(before, id) {
				t.Errorf("step %s waits for %s, which is no step before it", s.Id, id)
			}
		}
		before = append(before, s.Id)
		shell, _, _ := strings.Cut(strings.TrimPrefix(s.Script, "#!/usr/bin/env "), "\n")
		if out, err := exec.CommandContext(t.Context(), shell, "-n", "-c", s.Script).CombinedOutput(); err != nil {
			t.Errorf("step %s: %v\n%s", s.Id, err, out)
		}
		for _, m := range regexp.MustCompile(`\$\{?(_[A-Z_]+)`).FindAllStringSubmatch(s.Script, -1) {
			if !slices.Contains([]string{"_ENVIRONMENT", "_STATE_BUCKET", "_ACTION"}, m[1]) {
				t.Errorf("step %s uses %s, which the first step does not ask for", s.Id, m[1])
			}
		}
	}
	if i, j := slices.Index(before, "plan"), slices.Index(before, "apply"); i < 0 || j != i+1 || j != len(before)-1 {
		t.Errorf("steps %v, want plan and apply last", before)
	}
}

// script runs a step's script in a folder, with nothing of our environment but the search path and home.
func script(t *testing.T, dir, text string, env map[string]string) (string, error) {
	t.Helper()
	shell, _, _ := strings.Cut(strings.TrimPrefix(text, "#!/usr/bin/env "), "\n")
	cmd := exec.CommandContext(t.Context(), shell, "-c", text)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestMissingSubstitutionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	text := step(t, "substitutions").Script
	dir := t.TempDir()
	tr := &tree{t: t, dir: dir}
	tr.write("terraform/environments/prod.tfvars", "")
	all := map[string]string{"_ENVIRONMENT": "prod", "_STATE_BUCKET": "b", "_ACTION": "apply"}
	if out, err := script(t, dir, text, all); err != nil {
		t.Errorf("all given: %v\n%s", err, out)
	}
	if out, err := script(t, dir, text, nil); err == nil || strings.Count(out, "missing _") != 3 {
		t.Errorf("none given: %v, want all three named\n%s", err, out)
	}
	for name, wrong := range map[string]map[string]string{
		"missing _ENVIRONMENT": {"_ENVIRONMENT": ""}, "missing _STATE_BUCKET": {"_STATE_BUCKET": ""}, "missing _ACTION": {"_ACTION": ""},
		`_ACTION is "destroy"`: {"_ACTION": "destroy"}, "no terraform/environments/test.tfvars": {"_ENVIRONMENT": "test"},
	} {
		env := maps.Clone(all)
		maps.Copy(env, wrong)
		if out, err := script(t, dir, text, env); err == nil || !strings.Contains(out, name) {
			t.Errorf("%v: %v, want %q\n%s", wrong, err, name, out)
		}
	}
}

func TestStepsRunHere(t *testing.T) {
	t.Parallel()
	tr := newTree(t, false)
	env := map[string]string{}
	for _, line := range environment(t) {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	if out, err := script(t, tr.dir, step(t, "terraform-validate").Script, env); err != nil {
		t.Errorf("terraform-validate: %v\n%s", err, out)
	}
	if out, err := script(t, tr.dir, step(t, "apply").Script, map[string]string{"_ACTION": "plan"}); err != nil || !strings.Contains(out, "nothing is applied") {
		t.Errorf("apply of a plan: %v\n%s", err, out)
	}
	// What takes long is run by .ci/run, in the same words.
	ci, err := os.ReadFile(filepath.Join("..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	for id, commands := range map[string][]string{
		"vet":            {"go vet ./..."},
		"test":           {".ci/test", "redis-server redis-tools chromium"},
		"terraform-test": {"terraform -chdir=terraform test"},
	} {
		for _, command := range commands {
			if !strings.Contains(step(t, id).Script, command) || !strings.Contains(string(ci), command) {
				t.Errorf("step %s and .ci/run do not both run %q", id, command)
			}
		}
	}
}
