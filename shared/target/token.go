package target

import (
	"context"
	"fmt"
	"sync"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials/idtoken"
)

// TokenSource returns an OIDC identity token for an audience, and gives up
// when ctx is done. It is called for every attempt and from many goroutines:
// it caches.
type TokenSource func(ctx context.Context, audience string) (string, error)

// GoogleTokens takes tokens from the environment's Google credentials: the
// metadata server, or a service account's key. The credentials are looked for
// at the first call, and again at the next one when there are none; a token is
// used until shortly before it expires.
func GoogleTokens() TokenSource {
	var mu sync.Mutex
	found := map[string]*auth.Credentials{}
	credentials := func(audience string) (*auth.Credentials, error) {
		mu.Lock()
		defer mu.Unlock()
		if c := found[audience]; c != nil {
			return c, nil
		}
		c, err := idtoken.NewCredentials(&idtoken.Options{Audience: audience})
		if err != nil {
			return nil, fmt.Errorf("find Google credentials: %w", err)
		}
		found[audience] = c
		return c, nil
	}
	return func(ctx context.Context, audience string) (string, error) {
		c, err := credentials(audience)
		if err != nil {
			return "", err
		}
		token, err := c.Token(ctx)
		if err != nil {
			return "", fmt.Errorf("identity token for audience %q: %w", audience, err)
		}
		return token.Value, nil
	}
}

// token returns the empty string when the target has no audience.
func (h *HTTP) token(ctx context.Context) (string, error) {
	if h.cfg.Audience == "" {
		return "", nil
	}
	return h.tokens(ctx, h.cfg.Audience)
}
