package cloudtasks

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

const (
	keyBits   = 2048
	tokenLife = time.Hour // as Google's tokens

	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/oauth2/v3/certs"
)

// tokens signs OIDC tokens and publishes the key that proves them. The key is
// made when it is first needed.
type tokens struct {
	issuer string
	now    func() time.Time
	key    func() (*rsa.PrivateKey, error)
}

func newTokens(issuer string, now func() time.Time) *tokens {
	return &tokens{issuer: issuer, now: now, key: sync.OnceValues(func() (*rsa.PrivateKey, error) {
		return rsa.GenerateKey(rand.Reader, keyBits)
	})}
}

// authorization is the header value for t.
func (s *tokens) authorization(t engine.Token) (string, error) {
	if t.Audience == "" {
		return "Bearer ya29.emulator-" + subject(t.Email), nil // opaque, as Google's
	}
	key, err := s.key()
	if err != nil {
		return "", fmt.Errorf("make the token key: %w", err)
	}
	now := s.now()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": s.issuer, "aud": t.Audience, "sub": subject(t.Email), "azp": subject(t.Email),
		"email": t.Email, "email_verified": true,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
	})
	token.Header["kid"] = keyID(&key.PublicKey)
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign an OIDC token for %q: %w", t.Audience, err)
	}
	return "Bearer " + signed, nil
}

// subject stands for a service account's numeric ID.
func subject(email string) string {
	sum := sha256.Sum256([]byte(email))
	return fmt.Sprintf("%021d", binary.BigEndian.Uint64(sum[:]))
}

func keyID(k *rsa.PublicKey) string {
	sum := sha256.Sum256(k.N.Bytes())
	return hex.EncodeToString(sum[:20])
}

// serveDiscovery answers OpenID Connect discovery.
func (s *tokens) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{
		"issuer": s.issuer, "jwks_uri": s.issuer + keysPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

// serveKeys answers the JSON Web Key Set.
func (s *tokens) serveKeys(w http.ResponseWriter, _ *http.Request) {
	key, err := s.key()
	if err != nil {
		http.Error(w, "the token key could not be made", http.StatusInternalServerError)
		return
	}
	encode := base64.RawURLEncoding.EncodeToString
	writeJSON(w, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": keyID(&key.PublicKey),
		"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
	}}})
}

// writeJSON answers 200; a client that has gone is not our error.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
