package target_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/target"
)

// The metadata server's address comes from the environment, so this test is
// not parallel.
func TestGoogleTokensAskTheMetadataServerOncePerAudience(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	metadata := serve(t, func(w http.ResponseWriter, r *http.Request) {
		audience := r.URL.Query().Get("audience")
		if !strings.HasSuffix(r.URL.Path, "/service-accounts/default/identity") || r.Header.Get("Metadata-Flavor") != "Google" {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		if down.Load() {
			http.Error(w, "no such account", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, identityToken(audience))
	})
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
	tokens := target.GoogleTokens()
	ctx := context.Background()

	// A failure is not kept: the next call asks again.
	down.Store(true)
	if token, err := tokens(ctx, "https://a.example"); err == nil {
		t.Errorf("got %q from a metadata server without accounts", token)
	}
	down.Store(false)
	asked.Store(0)

	for _, audience := range []string{"https://a.example", "https://b.example", "https://a.example"} {
		got, err := tokens(ctx, audience)
		if err != nil || got != identityToken(audience) {
			t.Errorf("token for %s is %q, error %v", audience, got, err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the metadata server was asked %d times for 2 audiences", n)
	}
}

// identityToken has what the credentials library reads of a token.
func identityToken(audience string) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"aud":%q,"exp":%d}`, audience, time.Now().Add(time.Hour).Truncate(time.Hour).Add(time.Hour).Unix())
	return part([]byte(`{"alg":"RS256"}`)) + "." + part([]byte(claims)) + "." + part([]byte("signature"))
}
