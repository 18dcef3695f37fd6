package terraform_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// staged is what a function's upload must hold, by path, as functions/functions_test.go builds it.
func (tr *tree) staged(name string) map[string]string {
	t := tr.t
	t.Helper()
	files := map[string]string{}
	add := func(path, as string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[as] = string(data)
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		add(filepath.Join(tr.dir, file), file)
	}
	for from, to := range map[string]string{"shared": "shared", "functions/" + name: "."} {
		from = filepath.Join(tr.dir, from)
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case !d.IsDir() && !strings.HasSuffix(path, "_test.go"):
				rel, err := filepath.Rel(from, path)
				add(path, filepath.Join(to, rel))
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestArchivesHoldWhatTheBuildpackBuilds(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	for _, name := range []string{"ingest", "executor"} {
		got := map[string]string{}
		for _, source := range s.get(t, `data.archive_file.source["`+name+`"]`, "source").([]any) {
			file := source.(map[string]any)
			got[file["filename"].(string)] = file["content"].(string)
		}
		if diff := cmp.Diff(applied.staged[name], got); diff != "" {
			t.Errorf("archive of %s (-want +got):\n%.2000s", name, diff)
		}
	}
}

func TestAFunctionIsDeployedAnewOnlyWhenItsSourcesChange(t *testing.T) {
	t.Parallel()
	objects := func(s state) map[string]any {
		return map[string]any{
			"ingest":   s.get(t, `google_cloudfunctions2_function.ingest`, "build_config", 0, "source", 0, "storage_source", 0, "object"),
			"executor": s.get(t, `google_cloudfunctions2_function.executor`, "build_config", 0, "source", 0, "storage_source", 0, "object"),
		}
	}
	tr := newTree(t, false)
	first := objects(tr.apply())

	// A change of the executor, beside a test and its data, which are not uploaded.
	tr.replace("functions/executor/function.go", "package executor", "// Changed.\npackage executor")
	for _, file := range []string{"functions/ingest/new_test.go", "functions/ingest/testdata/new.txt", "shared/bundle/testdata/a/new.txt", "shared/new_test.go"} {
		tr.write(file, "package x\n")
	}
	second := objects(tr.apply())
	if second["ingest"] != first["ingest"] || second["executor"] == first["executor"] {
		t.Errorf("after a change of executor: %v, before: %v; want a new executor alone", second, first)
	}

	// What is shared changes both.
	tr.replace("shared/bundle/function.go", "package bundle", "// Changed.\npackage bundle")
	third := objects(tr.apply())
	for name := range maps.Keys(third) {
		if third[name] == second[name] {
			t.Errorf("after a change of shared/ %s keeps its object %v", name, third[name])
		}
	}
}
