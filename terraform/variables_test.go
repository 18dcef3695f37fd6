package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// variable is a block of variables*.tf.
type variable struct {
	name, text string
	messages   []string
}

var (
	variablePattern   = regexp.MustCompile(`(?ms)^variable "([a-z_]+)" \{\n(.*?)^\}`)
	messagePattern    = regexp.MustCompile(`error_message = ("[^\n]*")`)
	runPattern        = regexp.MustCompile(`(?ms)^run "([a-z_]+)" \{.*?^\}`)
	expectedPattern   = regexp.MustCompile(`(?s)expect_failures = \[.*?\]`)
	descriptionOrType = []*regexp.Regexp{regexp.MustCompile(`(?m)^  description = "[A-Z].*\."$`), regexp.MustCompile(`(?m)^  type +=`)}
)

func variables(t *testing.T) []variable {
	t.Helper()
	files, err := filepath.Glob("variables*.tf")
	if err != nil {
		t.Fatal(err)
	}
	var all []variable
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range variablePattern.FindAllStringSubmatch(string(text), -1) {
			v := variable{name: block[1], text: block[2]}
			for _, m := range messagePattern.FindAllStringSubmatch(block[2], -1) {
				message, err := strconv.Unquote(m[1])
				if err != nil {
					t.Fatal(err)
				}
				v.messages = append(v.messages, message)
			}
			all = append(all, v)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d variables found", len(all))
	}
	return all
}

func TestEveryVariableIsDescribedAndValidated(t *testing.T) {
	t.Parallel()
	for _, v := range variables(t) {
		for _, pattern := range descriptionOrType {
			if !pattern.MatchString(v.text) {
				t.Errorf("variable %s has no %s", v.name, pattern)
			}
		}
		// Every value of a bool is a right one.
		if len(v.messages) == 0 && !strings.Contains(v.text, "= bool\n") {
			t.Errorf("variable %s has no validation", v.name)
		}
	}
}

// TestEveryValidationRefusesAWrongValue lets the wrong values of the tests come through as errors: each sentence of a validation
// must be among them.
func TestEveryValidationRefusesAWrongValue(t *testing.T) {
	t.Parallel()
	tr := newTree(t, false)
	files, err := filepath.Glob("tests/refused*.tftest.hcl")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-json"}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(data), "\nrun ")
		for _, run := range runPattern.FindAllStringSubmatch(string(data), -1) {
			name := "tests/" + run[1] + ".tftest.hcl" // a file of its own: an error ends a file
			tr.write("terraform/"+name, head+"\n"+expectedPattern.ReplaceAllString(run[0], ""))
			args = append(args, "-filter="+name)
		}
	}
	tr.init()
	out, err := tr.terraform(args...)
	if err == nil {
		t.Fatal("wrong values are accepted")
	}
	said := messages(out)
	for _, v := range variables(t) {
		for _, message := range v.messages {
			if !strings.Contains(said, message) {
				t.Errorf("no test gives %s a value that is refused with: %s", v.name, message)
			}
		}
	}
}
