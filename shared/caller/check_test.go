package caller_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/caller"
)

func TestCheckLetsTheRightCallerIn(t *testing.T) {
	t.Parallel()
	signed := strings.TrimSuffix(token(t, nil), marker) + "c2lnbmF0dXJl"
	for name, pairs := range map[string][]string{
		"with the marker that Cloud Run leaves":        {"Authorization", "Bearer " + token(t, nil)},
		"with a signature, as an emulator leaves it":   {"Authorization", "Bearer " + signed},
		"with the scheme in another case":              {"Authorization", "bearer " + token(t, nil)},
		"with the other name of the issuer":            {"Authorization", "Bearer " + token(t, map[string]any{"iss": "accounts.google.com"})},
		"with a clock 20 s behind":                     {"Authorization", "Bearer " + token(t, map[string]any{"iat": now.Add(20 * time.Second).Unix()})},
		"expired 20 s ago by our clock":                {"Authorization", "Bearer " + token(t, map[string]any{"exp": now.Add(-20 * time.Second).Unix()})},
		"in the header that Cloud Run checks first":    {"X-Serverless-Authorization", "Bearer " + token(t, nil)},
		"in that header, beside a client's credential": {"X-Serverless-Authorization", "Bearer " + token(t, nil), "Authorization", "Basic eDp5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := setup(t).Check(header(pairs...), tasks, now); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestCheckRefusesAllOthers(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) []string {
		return []string{"Authorization", "Bearer " + token(t, map[string]any{name: value})}
	}
	algorithm := func(alg string) []string {
		_, rest, _ := strings.Cut(token(t, nil), ".")
		return []string{"Authorization", "Bearer " + encode(t, map[string]any{"alg": alg}) + "." + rest}
	}
	for name, test := range map[string]struct {
		pairs []string
		want  string
	}{
		"no header":                   {nil, "no bearer token"},
		"an empty header":             {[]string{"Authorization", ""}, "no bearer token"},
		"another scheme":              {[]string{"Authorization", "Basic " + token(t, nil)}, "no bearer token"},
		"an access token":             {[]string{"Authorization", "Bearer ya29.opaque"}, "no identity token"},
		"no claims":                   {[]string{"Authorization", "Bearer a.b." + marker}, "no identity token"},
		"dots only":                   {[]string{"Authorization", "Bearer .."}, "no identity token"},
		"two tokens":                  {[]string{"Authorization", "Bearer " + token(t, nil), "Authorization", "Bearer " + token(t, nil)}, "more than one"},
		"algorithm none":              {algorithm("none"), "no identity token"},
		"a symmetric algorithm":       {algorithm("HS256"), "no identity token"},
		"another audience":            {claim("aud", "https://ingest-1.europe-west1.run.app"), "for audience"},
		"the audience with a path":    {claim("aud", audience+"/sweep"), "for audience"},
		"no audience":                 {claim("aud", nil), "aud claim is required"},
		"two audiences":               {claim("aud", []string{audience, "https://other.example"}), "2 audiences"},
		"another issuer":              {claim("iss", "https://accounts.google.com.evil.example"), "not issued by Google"},
		"no issuer":                   {claim("iss", nil), "not issued by Google"},
		"another account":             {claim("email", "else@p.iam.gserviceaccount.com"), "of account"},
		"the account of the sweep":    {claim("email", sweep), "of account"},
		"an account that begins like": {claim("email", tasks+".evil.example"), "of account"},
		"no account":                  {claim("email", nil), "of account"},
		"an account not verified":     {claim("email_verified", false), "verified: false"},
		"expired":                     {claim("exp", now.Add(-time.Minute).Unix()), "expired"},
		"no expiry":                   {claim("exp", nil), "exp"},
		"from the future":             {claim("iat", now.Add(time.Minute).Unix()), "issued"},
		"not valid yet":               {claim("nbf", now.Add(time.Minute).Unix()), "not valid yet"},
		"claims of other types":       {claim("email", 7), "no identity token"},
		"the right one where Cloud Run has not looked": {
			[]string{"Authorization", "Bearer " + token(t, nil), "X-Serverless-Authorization", "Bearer " + token(t, map[string]any{"email": sweep})}, "of account",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := setup(t).Check(header(test.pairs...), tasks, now)
			if !errors.Is(err, caller.ErrRefused) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want ErrRefused with %q", err, test.want)
			}
			if strings.Contains(err.Error(), marker) || strings.Contains(err.Error(), "eyJ") {
				t.Errorf("the error holds a token: %v", err)
			}
		})
	}
}

func TestCheckOfAnAccountThatIsNotSet(t *testing.T) {
	t.Parallel()
	h := header("Authorization", "Bearer "+token(t, map[string]any{"email": ""}))
	if err := setup(t).Check(h, "", now); !errors.Is(err, caller.ErrRefused) {
		t.Errorf("a token without an account: %v, want ErrRefused", err)
	}
}

func TestOffLetsEverybodyIn(t *testing.T) {
	t.Parallel()
	if err := (caller.Config{Off: true}).Check(header(), "", now); err != nil {
		t.Errorf("off: %v, want nil", err)
	}
}

func FuzzCheckNeverPanics(f *testing.F) {
	f.Add("Bearer a.b.c")
	f.Add("Bearer eyJhbGciOiJSUzI1NiJ9.e30." + marker)
	f.Add("bearer  . . ")
	c := caller.Config{Audience: audience, Tasks: tasks}
	f.Fuzz(func(t *testing.T, value string) {
		if err := c.Check(header("Authorization", value), tasks, now); !errors.Is(err, caller.ErrRefused) {
			t.Errorf("%q: %v, want ErrRefused", value, err)
		}
	})
}
