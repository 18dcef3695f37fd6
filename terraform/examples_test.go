package terraform_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTheExamplesAreAccepted plans each example of an environment, with a document beside it as the README says.
func TestTheExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob("environments/*.tfvars.example")
	if err != nil || len(examples) != 2 {
		t.Fatalf("examples %v, %v; want dev and prod", examples, err)
	}
	const document = "targets: {erp: {url: 'https://erp.example', secret: {env: ERP_SECRET}}}\nlanes: [{match: '*', target: erp, spacing: 1s}]\n"
	const run = `
mock_provider "google" {
  source = "./tests/mocks"
}
mock_provider "archive" {}
mock_provider "random" {
  source = "./tests/mocks"
}
run "example" {
  command = plan
}
`
	for _, example := range examples {
		environment := strings.TrimSuffix(example, ".tfvars.example")
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, false)
			tr.write("terraform/tests/example.tftest.hcl", run)
			tr.write("terraform/"+environment+".yaml", document)
			tr.init()
			if out, err := tr.terraform("test", "-no-color", "-filter=tests/example.tftest.hcl", "-var-file="+example); err != nil {
				t.Errorf("%s: %v\n%s", example, err, out)
			}
		})
	}
}
