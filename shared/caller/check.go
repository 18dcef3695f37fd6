package caller

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrRefused is in every error of [Config.Check].
var ErrRefused = errors.New("caller refused")

// leeway is how far the clocks of issuer and instance may be apart.
const leeway = 30 * time.Second

// issuers are the two forms in which Google names itself.
var issuers = []string{"https://accounts.google.com", "accounts.google.com"}

// claims are those of a Google identity token.
type claims struct {
	jwt.RegisteredClaims
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
}

// Check returns nil when the headers carry a token of account: issued by Google for our audience, with a verified e-mail address,
// neither expired nor from the future at now, give or take 30 s. Off lets all pass, an empty account none. The error wraps
// ErrRefused, says what is wrong and holds no part of the token but its account and audience.
func (c Config) Check(h http.Header, account string, now time.Time) error {
	if c.Off {
		return nil
	}
	if account == "" {
		return fmt.Errorf("%w: no account may make this call", ErrRefused)
	}
	got, err := read(h, now, jwt.WithAudience(c.Audience))
	switch {
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return fmt.Errorf("%w: the token is for audience %q, want %q", ErrRefused, got.Audience, c.Audience)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case len(got.Audience) != 1:
		return fmt.Errorf("%w: the token is for %d audiences, want one", ErrRefused, len(got.Audience))
	case got.Email != account || !got.EmailVerified:
		return fmt.Errorf("%w: the token is of account %q (verified: %t), want %q", ErrRefused, got.Email, got.EmailVerified, account)
	}
	return nil
}

// Email returns the verified e-mail address in the headers' token, whose audience and signature Cloud Run has checked. The error
// wraps ErrRefused, says what is wrong and holds no part of the token.
func Email(h http.Header, now time.Time) (string, error) {
	got, err := read(h, now)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	case got.Email == "" || !got.EmailVerified:
		return "", fmt.Errorf("%w: the token has no verified e-mail address", ErrRefused)
	}
	return got.Email, nil
}

// read returns the claims of the headers' token: issued by Google, neither expired nor from the future at now, give or take
// 30 s, and as the options want it.
func read(h http.Header, now time.Time, options ...jwt.ParserOption) (claims, error) {
	token, err := bearer(h)
	if err != nil {
		return claims{}, err
	}
	var got claims
	parsed, _, err := jwt.NewParser().ParseUnverified(token, &got)
	if err != nil || parsed.Method != jwt.SigningMethodRS256 {
		return claims{}, errors.New("the bearer token is no identity token of Google")
	}
	options = append(options, jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(func() time.Time { return now }))
	if err := jwt.NewValidator(options...).Validate(got); err != nil {
		return got, err
	}
	if !slices.Contains(issuers, got.Issuer) {
		return got, errors.New("the token is not issued by Google")
	}
	return got, nil
}

// bearer returns the token that Cloud Run has checked.
func bearer(h http.Header) (string, error) {
	values := h.Values("X-Serverless-Authorization")
	if len(values) == 0 {
		values = h.Values("Authorization")
	}
	switch len(values) {
	case 0:
		return "", errors.New("no bearer token")
	case 1:
	default:
		return "", errors.New("more than one authorization header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("the authorization header holds no bearer token")
	}
	return token, nil
}
