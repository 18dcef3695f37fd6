package cloudtasks_test

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

// publishedKeys finds the keys as a verifier does, by discovery.
func (b *bundle) publishedKeys(t *testing.T) jwt.Keyfunc {
	t.Helper()
	get := func(path string, into any) {
		t.Helper()
		if status, body := b.ask(t, "GET", path, ""); status != 200 || json.Unmarshal([]byte(body), into) != nil {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
	var discovery struct {
		Issuer string
		Keys   string `json:"jwks_uri"`
	}
	get("/.well-known/openid-configuration", &discovery)
	if want := "http://" + b.server.Addr(); discovery.Issuer != want {
		t.Errorf("issuer %q, want %q", discovery.Issuer, want)
	}
	var set struct{ Keys []struct{ Kid, N, E string } }
	get(strings.TrimPrefix(discovery.Keys, discovery.Issuer), &set)
	number := func(text string) *big.Int {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return new(big.Int).SetBytes(raw)
	}
	return func(token *jwt.Token) (any, error) {
		for _, key := range set.Keys {
			if key.Kid == token.Header["kid"] {
				return &rsa.PublicKey{N: number(key.N), E: int(number(key.E).Int64())}, nil
			}
		}
		return nil, jwt.ErrTokenUnverifiable
	}
}

func TestOIDCTokensAreProvenByThePublishedKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t, func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{
			ServiceAccountEmail: "tasks@p.iam.gserviceaccount.com", Audience: "https://executor.example",
		}}
	})
	sent := strings.TrimPrefix(b.target.next(t).Header.Get("Authorization"), "Bearer ")
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(sent, claims, b.publishedKeys(t),
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer("http://"+b.server.Addr()), jwt.WithAudience("https://executor.example"),
		jwt.WithTimeFunc(b.clock.Now), jwt.WithIssuedAt(), jwt.WithExpirationRequired())
	if err != nil {
		t.Fatalf("verify %q: %v", sent, err)
	}
	if claims["email"] != "tasks@p.iam.gserviceaccount.com" || claims["email_verified"] != true {
		t.Errorf("claims %v", claims)
	}
	life := time.Duration(claims["exp"].(float64)-claims["iat"].(float64)) * time.Second
	if life != time.Hour {
		t.Errorf("the token lives %v, want 1h", life)
	}
}

func TestTheIssuerCanBeGooglesAndOAuthTokensAreOpaque(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *cloudtasks.Options) { o.Issuer = "https://accounts.google.com" })
	b.create(t, func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: "a@p"}}
	})
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(strings.TrimPrefix(b.target.next(t).Header.Get("Authorization"), "Bearer "), claims); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"iss": "https://accounts.google.com", "aud": b.target.URL + "/work?x=1"}
	if diff := cmp.Diff(want, map[string]any{"iss": claims["iss"], "aud": claims["aud"]}); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	b.create(t, func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().AuthorizationHeader = &cloudtaskspb.HttpRequest_OauthToken{OauthToken: &cloudtaskspb.OAuthToken{ServiceAccountEmail: "a@p"}}
	})
	if got := b.target.next(t).Header.Get("Authorization"); !strings.HasPrefix(got, "Bearer ya29.") {
		t.Errorf("Authorization %q", got)
	}
}
