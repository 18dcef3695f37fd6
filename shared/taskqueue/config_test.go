package taskqueue_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func cloud() map[string]string {
	return map[string]string{
		taskqueue.EnvQueue:          "projects/p/locations/europe-west1/queues/lanes",
		taskqueue.EnvExecutorURL:    "https://executor-abc.run.app/run/it",
		taskqueue.EnvServiceAccount: "tasks@p.iam.gserviceaccount.com",
		taskqueue.EnvKeys:           "first,second\n",
	}
}

func fromEnv(env map[string]string) (taskqueue.Config, error) {
	return taskqueue.FromEnv(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
}

func with(env map[string]string, pairs ...string) map[string]string {
	env = maps.Clone(env)
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return env
}

func TestFromEnv(t *testing.T) {
	t.Parallel()

	t.Run("in the cloud", func(t *testing.T) {
		t.Parallel()
		c, err := fromEnv(cloud())
		if err != nil {
			t.Fatal(err)
		}
		if c.Queue != "projects/p/locations/europe-west1/queues/lanes" || c.ExecutorURL != "https://executor-abc.run.app/run/it" ||
			c.Audience != "https://executor-abc.run.app" || c.ServiceAccount != "tasks@p.iam.gserviceaccount.com" ||
			c.Endpoint != "" || !c.Auth || c.Keys.String() != "2 HMAC keys (redacted)" {
			t.Errorf("FromEnv = %+v", c)
		}
	})
	t.Run("an emulator needs no account and no https", func(t *testing.T) {
		t.Parallel()
		c, err := fromEnv(with(cloud(), taskqueue.EnvServiceAccount, "", taskqueue.EnvEndpoint, "127.0.0.1:8123",
			taskqueue.EnvExecutorURL, "http://127.0.0.1:8080/executor"))
		if err != nil || c.Endpoint != "127.0.0.1:8123" || c.Audience != "http://127.0.0.1:8080" {
			t.Errorf("FromEnv = %+v, %v", c, err)
		}
	})
	t.Run("auth off needs no account", func(t *testing.T) {
		t.Parallel()
		c, err := fromEnv(with(cloud(), taskqueue.EnvServiceAccount, "", taskqueue.EnvAuth, "off"))
		if err != nil || c.Auth {
			t.Errorf("FromEnv = %+v, %v", c, err)
		}
	})
}

func TestFromEnvRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, variable, value, detail string }{
		{"no queue", taskqueue.EnvQueue, "", "projects/P/locations/L/queues/Q"},
		{"a short queue name", taskqueue.EnvQueue, "lanes", "projects/P/locations/L/queues/Q"},
		{"a queue name with a task", taskqueue.EnvQueue, "projects/p/locations/l/queues/q/tasks/t", "projects/P"},
		{"no executor", taskqueue.EnvExecutorURL, "", "not set"},
		{"an executor without a scheme", taskqueue.EnvExecutorURL, "executor.run.app", "absolute"},
		{"an executor of another scheme", taskqueue.EnvExecutorURL, "ftp://executor", "absolute"},
		{"an executor that is no URL", taskqueue.EnvExecutorURL, "https://exe cutor\x00", "absolute"},
		{"an executor with a password", taskqueue.EnvExecutorURL, "https://u:hunter2@executor", "user"},
		{"an executor with a query", taskqueue.EnvExecutorURL, "https://executor?a=hunter2", "query"},
		{"an executor in the clear", taskqueue.EnvExecutorURL, "http://executor", "https"},
		{"an executor too long", taskqueue.EnvExecutorURL, "https://executor/" + strings.Repeat("x", 2083), "2083"},
		{"no account", taskqueue.EnvServiceAccount, "", "not set"},
		{"an account that is none", taskqueue.EnvServiceAccount, "tasks", "e-mail"},
		{"no keys", taskqueue.EnvKeys, "", "empty"},
		{"a key that is empty", taskqueue.EnvKeys, "hunter2,", "key 2 of 2"},
		{"an endpoint that is a URL", taskqueue.EnvEndpoint, "http://127.0.0.1:8123", "host:port"},
		{"an endpoint without a port", taskqueue.EnvEndpoint, "127.0.0.1", "host:port"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := fromEnv(with(cloud(), tt.variable, tt.value))
			if err == nil || c.Queue != "" {
				t.Fatalf("FromEnv = %+v, %v; want nothing and an error", c, err)
			}
			if text := err.Error(); !strings.HasPrefix(text, tt.variable+": ") || !strings.Contains(text, tt.detail) ||
				strings.Contains(text, "\n") || strings.Contains(text, "hunter2") {
				t.Errorf("error %q: want only %s, saying %q, and no secret", text, tt.variable, tt.detail)
			}
		})
	}

	t.Run("all faults at once", func(t *testing.T) {
		t.Parallel()
		_, err := fromEnv(nil)
		if err == nil {
			t.Fatal("FromEnv of nothing succeeded")
		}
		for name := range cloud() {
			if n := strings.Count(err.Error(), name+": "); n != 1 {
				t.Errorf("%s is named %d times, want once, in:\n%v", name, n, err)
			}
		}
	})
}

func TestNewRefusesWhatFromEnvWould(t *testing.T) {
	t.Parallel()

	_, err := taskqueue.New(t.Context(), taskqueue.Config{Endpoint: "127.0.0.1:1"})
	if err == nil {
		t.Fatal("New of nothing succeeded")
	}
	for _, name := range []string{taskqueue.EnvQueue, taskqueue.EnvExecutorURL, taskqueue.EnvKeys} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}
