package redisconn_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()

	t.Run("it takes what is set", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{"redis://127.0.0.1", "redis://:pass@r:6380/2", "rediss://user:p%2Fss@r:6379", "redis://[::1]:6379"} {
			got, err := redisconn.FromEnv(environment(map[string]string{"SERIATIM_REDIS_URL": url}))
			if diff := cmp.Diff(redisconn.Config{URL: url}, got); err != nil || diff != "" {
				t.Errorf("%s: %v, config (-want +got):\n%s", url, err, diff)
			}
		}
	})

	const (
		url = "SERIATIM_REDIS_URL"
		ca  = "SERIATIM_REDIS_CA"
	)
	for _, tt := range []struct {
		name string
		vars map[string]string
		want string
	}{
		{"nothing set", nil, "SERIATIM_REDIS_URL is not set: want redis://host:port or rediss://host:port"},
		{"no scheme", map[string]string{url: "r:6379"}, `SERIATIM_REDIS_URL: scheme "r", want redis:// or rediss://`},
		{"another scheme", map[string]string{url: "https://r"}, `SERIATIM_REDIS_URL: scheme "https", want redis:// or rediss://`},
		{"a socket", map[string]string{url: "unix:///run/redis"}, `SERIATIM_REDIS_URL: scheme "unix", want redis:// or rediss://`},
		{"no host", map[string]string{url: "redis://:hunter2@/0"}, "SERIATIM_REDIS_URL names no host"},
		{
			"a password that breaks the URL", map[string]string{url: "redis://:hunter2/x@r:6379"},
			"SERIATIM_REDIS_URL is no URL: percent-encode special characters of the password",
		},
		{"a database that is no number", map[string]string{url: "redis://:hunter2@r/main"}, `SERIATIM_REDIS_URL: redis: invalid database number: "main"`},
		{
			"settings of its own", map[string]string{url: "redis://:hunter2@r?client_name=x"},
			"SERIATIM_REDIS_URL has query parameters: timeouts and pool size are fixed, remove them",
		},
		{
			"a CA without TLS", map[string]string{url: "redis://r", ca: certificate(t)},
			"SERIATIM_REDIS_CA is set, but SERIATIM_REDIS_URL is not a rediss:// URL: the certificates would not be used",
		},
		{
			"two faults at once", map[string]string{url: "http://r", ca: "hunter2"},
			"SERIATIM_REDIS_URL: scheme \"http\", want redis:// or rediss://\n" +
				"SERIATIM_REDIS_CA holds no certificate: want PEM blocks that begin with -----BEGIN CERTIFICATE-----",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := redisconn.FromEnv(environment(tt.vars))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
			_, err = redisconn.Open(redisconn.Config{URL: tt.vars[url], CA: tt.vars[ca]})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Open: %v, want an error without the password", err)
			}
		})
	}
}

func TestConfigHidesThePassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"rediss://user:hunter2@r:6379/1": "rediss://user:xxxxx@r:6379/1",
		"redis://:hunter2/x@r":           "invalid URL",
	} {
		cfg := redisconn.Config{URL: url, CA: "-----BEGIN"}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("connected", "redis", cfg)
		if got := fmt.Sprint(cfg); got != want || !strings.Contains(log.String(), want) || strings.Contains(log.String(), "hunter2") {
			t.Errorf("printed %q, logged %s; want %s", got, &log, want)
		}
	}
}
