package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn"
)

func TestCacheFromEnv(t *testing.T) {
	t.Parallel()
	const main = "redis://main:6379"
	for name, tt := range map[string]struct {
		cache string
		want  redisconn.Config
		fault string
	}{
		"none":                      {"", redisconn.Config{}, ""},
		"another server":            {"redis://cache:6379/1", redisconn.Config{URL: "redis://cache:6379/1"}, ""},
		"one that is no URL":        {"http://cache", redisconn.Config{}, "SERIATIM_CACHE_REDIS_URL"},
		"a password is not told":    {"redis://:s3cret@", redisconn.Config{}, "SERIATIM_CACHE_REDIS_URL"},
		"TLS takes the common file": {"rediss://cache", redisconn.Config{}, "SERIATIM_REDIS_CA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"SERIATIM_REDIS_URL": main, "SERIATIM_REDIS_CA": "no certificate", "SERIATIM_CACHE_REDIS_URL": tt.cache}
			got, err := cacheFromEnv(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
			switch {
			case (err == nil) != (tt.fault == ""):
				t.Errorf("error %v, want %q in it", err, tt.fault)
			case err != nil && (!strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), "s3cret")):
				t.Errorf("error %q, want %q in it and no password", err, tt.fault)
			}
		})
	}
}
