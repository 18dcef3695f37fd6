package ingest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/problem"
)

func TestTheDescriptionHasExactlyTheRoutes(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]bool{}, map[string]bool{}
	for _, rt := range routes {
		want[rt.method+" "+strings.ReplaceAll(rt.pattern, "...}", "}")] = true
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if method != http.MethodHead { // goes with GET
				got[method+" "+path] = true
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-route.go +openapi.yaml):\n%s", diff)
	}
}

func TestTheDescriptionHasExactlyTheProblems(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, schema := range doc.Components.Schemas {
		for _, part := range schema.Value.AllOf {
			if uri := part.Value.Properties["type"]; uri != nil && uri.Value.Const != nil {
				got[uri.Value.Const.(string)] = text(part.Value.Properties["status"].Value.Const)
			}
		}
	}
	if diff := cmp.Diff(problems(t), got); diff != "" {
		t.Errorf("status by type (-shared/problem +openapi.yaml):\n%s", diff)
	}
}

// text of a number of either decoder.
func text(number any) string {
	switch n := number.(type) {
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case int:
		return strconv.Itoa(n)
	}
	return "no number"
}

// problems reads the names from the source of package problem, which lists them for nobody else, and the status of each from
// what it answers.
func problems(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../shared/problem/name.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Name" {
			return true
		}
		for _, value := range spec.Values {
			word, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			name := problem.Name(word)
			list[name.URI()] = strconv.Itoa(problem.From(name).Status)
		}
		return true
	})
	return list
}
