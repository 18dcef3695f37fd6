package cloudtasks_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

// gcloud runs the real command against the server and returns what it prints.
func (b *bundle) gcloud(t *testing.T, config string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "gcloud", append([]string{"tasks"}, args...)...)
	command.Env = append(os.Environ(),
		"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDTASKS=http://"+b.server.Addr()+"/",
		"CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_PROJECT=p", "CLOUDSDK_CORE_DISABLE_PROMPTS=1",
		"CLOUDSDK_CONFIG="+config, "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
	)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("gcloud tasks %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

func TestTheRealGcloud(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcloud"); err != nil {
		if os.Getenv("SERIATIM_REQUIRE_REAL") == "1" {
			t.Fatal("gcloud is not installed, but SERIATIM_REQUIRE_REAL=1")
		}
		t.Skip("gcloud is not installed")
	}
	if testing.Short() {
		t.Skip("gcloud takes a second for each command")
	}
	b := setup(t, func(o *cloudtasks.Options) { o.Queues = nil })
	config := t.TempDir()
	for _, step := range []struct{ command, want string }{
		{"queues create q --location=l --max-attempts=3 --min-backoff=0.5s", "Created queue"},
		{"queues pause q --location=l", "Paused queue"},
		{"create-http-task t1 --queue=q --location=l --url=" + b.target.URL + " --body-content=hi --header=A:b", "Created task"},
		{"list --queue=q --location=l", "t1"},
		{"describe t1 --queue=q --location=l", "httpMethod: POST"},
		{"run t1 --queue=q --location=l", "dispatchCount: 1"},
		{"queues purge q --location=l", "Purged queue"},
		{"queues delete q --location=l", "Deleted queue"},
	} {
		if got := b.gcloud(t, config, strings.Fields(step.command)...); !strings.Contains(got, step.want) {
			t.Errorf("gcloud tasks %s printed %q, want %q in it", step.command, got, step.want)
		}
	}
	if r := b.target.next(t); r.Header.Get("Test-Body") != "hi" || r.Header.Get("A") != "b" {
		t.Errorf("the target got %v", r.Header)
	}
}
