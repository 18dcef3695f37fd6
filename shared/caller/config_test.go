package caller_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/caller"
)

func fromEnv(changes map[string]string) (caller.Config, error) {
	env := map[string]string{
		caller.EnvExecutorURL: audience + "/executor", caller.EnvTasksAccount: " " + tasks + "\n", caller.EnvSweepAccount: sweep,
		"K_SERVICE": "executor",
	}
	maps.Copy(env, changes)
	return caller.FromEnv(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	t.Run("the audience is scheme and host of the executor", func(t *testing.T) {
		t.Parallel()
		got, err := fromEnv(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(caller.Config{Audience: audience, Tasks: tasks, Sweep: sweep}, got); diff != "" {
			t.Errorf("config (-want +got):\n%s", diff)
		}
	})
	t.Run("locally nothing else is needed when off", func(t *testing.T) {
		t.Parallel()
		got, err := caller.FromEnv(func(name string) (string, bool) {
			return map[string]string{caller.EnvAuth: "off"}[name], name == caller.EnvAuth
		})
		if err != nil || !got.Off {
			t.Errorf("got %+v, %v; want off", got, err)
		}
	})
	t.Run("without an account of the sweep nobody may sweep", func(t *testing.T) {
		t.Parallel()
		if got, err := fromEnv(map[string]string{caller.EnvSweepAccount: ""}); err != nil || got.Sweep != "" {
			t.Errorf("got %+v, %v; want no account and no error", got, err)
		}
	})
}

func TestFromEnvNamesEveryFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes map[string]string
		want    []string
	}{
		"an unknown setting":         {map[string]string{caller.EnvAuth: "false"}, []string{caller.EnvAuth + `: "false"`}},
		"the setting in capitals":    {map[string]string{caller.EnvAuth: "OFF"}, []string{caller.EnvAuth}},
		"off on Cloud Run":           {map[string]string{caller.EnvAuth: "off"}, []string{caller.EnvAuth + ": off is for local use only"}},
		"neither URL nor account":    {map[string]string{caller.EnvExecutorURL: "", caller.EnvTasksAccount: ""}, []string{caller.EnvExecutorURL, caller.EnvTasksAccount}},
		"a relative URL":             {map[string]string{caller.EnvExecutorURL: "/executor"}, []string{caller.EnvExecutorURL}},
		"no e-mail addresses":        {map[string]string{caller.EnvTasksAccount: "a", caller.EnvSweepAccount: "b"}, []string{caller.EnvTasksAccount, caller.EnvSweepAccount}},
		"one account for both edges": {map[string]string{caller.EnvSweepAccount: tasks}, []string{caller.EnvSweepAccount + ": the same account"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fromEnv(test.changes)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(test.want) {
				t.Errorf("%d faults, want %d: %v", got, len(test.want), err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}
