package policy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/policy"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seriatim.yaml")
	if err := os.WriteFile(file, []byte(shortest), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("the document, or the file that holds it", func(t *testing.T) {
		t.Parallel()
		for _, env := range []map[string]string{
			{"SERIATIM_CONFIG": shortest},
			{"SERIATIM_CONFIG_FILE": file},
			{"SERIATIM_CONFIG_FILE": file, "SERIATIM_CONFIG": "", "K_SERVICE": "ingest"},
		} {
			got, err := policy.FromEnv(environment(env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(shortestDocument(), got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		}
	})

	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"neither", nil, "no configuration: set SERIATIM_CONFIG to the document, or SERIATIM_CONFIG_FILE to its path"},
		{"both", map[string]string{"SERIATIM_CONFIG": shortest, "SERIATIM_CONFIG_FILE": file}, "SERIATIM_CONFIG and SERIATIM_CONFIG_FILE are both set: remove one"},
		{"a bad document", map[string]string{"SERIATIM_CONFIG": "lanes: []"}, "SERIATIM_CONFIG is not valid:\ntargets: is required\nlanes: is empty, want one at least"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := policy.FromEnv(environment(tt.env)); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}

	t.Run("a file that is not there", func(t *testing.T) {
		t.Parallel()
		_, err := policy.FromEnv(environment(map[string]string{"SERIATIM_CONFIG_FILE": file + ".old"}))
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "SERIATIM_CONFIG_FILE: ") {
			t.Errorf("error %v, want fs.ErrNotExist under the variable's name", err)
		}
	})

	t.Run("a variable of the document comes from the same environment", func(t *testing.T) {
		t.Parallel()
		doc, err := policy.FromEnv(environment(map[string]string{"SERIATIM_CONFIG": target("url: {env: HERE}"), "HERE": "http://here"}))
		if err != nil || doc.Targets["t"].URL != "http://here" {
			t.Errorf("%+v, %v; want http://here", doc, err)
		}
	})

	t.Run("a secret in clear text is refused on Cloud Run", func(t *testing.T) {
		t.Parallel()
		env := map[string]string{"SERIATIM_CONFIG": target("url: 'http://x', headers: {Authorization: hunter2}")}
		if _, err := policy.FromEnv(environment(env)); err != nil {
			t.Fatalf("on a laptop: %v", err)
		}
		env["K_SERVICE"] = "ingest"
		var faults policy.Faults
		if _, err := policy.FromEnv(environment(env)); !errors.As(err, &faults) || len(faults) != 1 || faults[0].Path != "targets.t.headers.Authorization" {
			t.Errorf("error %v, want one fault at targets.t.headers.Authorization", err)
		}
	})
}
