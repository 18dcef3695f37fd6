package caller_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/caller"
)

func TestEmail(t *testing.T) {
	t.Parallel()
	for name, aud := range map[string]any{"for us": audience, "for ingest": "https://ingest.run.app", "for a client id": "1234.apps.googleusercontent.com"} {
		h := header("Authorization", "Bearer "+token(t, map[string]any{"aud": aud}))
		if got, err := caller.Email(h, now); got != tasks || err != nil {
			t.Errorf("a token %s: %q, %v, want %q", name, got, err, tasks)
		}
	}
	for name, pairs := range map[string][]string{
		"no token":          nil,
		"no address":        {"Authorization", "Bearer " + token(t, map[string]any{"email": nil})},
		"one not verified":  {"Authorization", "Bearer " + token(t, map[string]any{"email_verified": false})},
		"an expired one":    {"Authorization", "Bearer " + token(t, map[string]any{"exp": now.Add(-time.Hour).Unix()})},
		"another's issuer":  {"Authorization", "Bearer " + token(t, map[string]any{"iss": "https://evil.example"})},
		"an access token":   {"Authorization", "Bearer ya29.opaque"},
		"a password":        {"Authorization", "Basic eDp5"},
		"one of the future": {"Authorization", "Bearer " + token(t, map[string]any{"iat": now.Add(time.Hour).Unix()})},
	} {
		if got, err := caller.Email(header(pairs...), now); !errors.Is(err, caller.ErrRefused) || got != "" {
			t.Errorf("%s: %q, %v, want ErrRefused", name, got, err)
		}
	}
}
