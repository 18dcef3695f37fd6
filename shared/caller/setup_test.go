package caller_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/caller"
)

const (
	audience = "https://executor-1.europe-west1.run.app"
	tasks    = "tasks@p.iam.gserviceaccount.com"
	sweep    = "sweep@p.iam.gserviceaccount.com"
	marker   = "SIGNATURE_REMOVED_BY_GOOGLE"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

type bundle struct{ caller.Config }

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{caller.Config{Audience: audience, Tasks: tasks, Sweep: sweep}}
}

// token is a right one of Cloud Tasks as Cloud Run hands it on, but for the changes; a nil value takes a claim out.
func token(t *testing.T, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": "https://accounts.google.com", "aud": audience, "email": tasks, "email_verified": true, "sub": "1",
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return encode(t, map[string]any{"alg": "RS256", "typ": "JWT", "kid": "k"}) + "." + encode(t, claims) + "." + marker
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}
