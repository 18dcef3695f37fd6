package target

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/http/httpguts"
)

// DefaultTimeout is that of a target whose configuration has none.
const DefaultTimeout = time.Minute

// Config describes one HTTP target.
type Config struct {
	// Name is the target's name in the configuration; it appears in errors.
	Name string
	// URL is where it listens: absolute, http or https, without user
	// information and fragment.
	URL string
	// Method is any but CONNECT and TRACE.
	// Default: POST.
	Method string
	// Timeout bounds an attempt, from before the connection is made until the
	// last byte of the response.
	// Default: [DefaultTimeout].
	Timeout time.Duration
	// Headers are set on every call; they win over forwarded ones.
	// Content-Type and Content-Encoding are the client's alone.
	Headers map[string]string
	// Audience makes every call carry an OIDC identity token for it as bearer
	// token. Empty: none.
	Audience string
	// Secret signs every call as the Standard Webhooks specification says:
	// base64, with or without the prefix "whsec_". Empty: no signature.
	Secret string
	// Retryable reports whether a status other than 2xx, redirects included,
	// is worth another attempt.
	// Default: 408, 425, 429 and every 5xx.
	Retryable func(status int) bool
	// RetryTimeout says that an attempt without an answer is worth another:
	// it covers the reasons timeout and broken, in which the target may have
	// done the work. False makes them final.
	RetryTimeout bool
	// RetryRefused says the same of an attempt that found no connection.
	RetryRefused bool
}

func (c Config) withDefaults() Config {
	if c.Method == "" {
		c.Method = http.MethodPost
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Retryable == nil {
		c.Retryable = defaultRetryable
	}
	return c
}

func defaultRetryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status/100 == 5
}

// check returns every fault of c, without any value that may be a secret: a
// URL's query and a header often are.
func (c Config) check() error {
	faults := []error{c.checkURL()}
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if !httpguts.ValidHeaderFieldName(c.Method) || c.Method == http.MethodConnect || c.Method == http.MethodTrace {
		add("method: must be an HTTP method other than CONNECT and TRACE, for example POST")
	}
	if c.Timeout < 0 {
		add("timeout: is negative; set one above 0s or leave it out")
	}
	for name, value := range c.Headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			add("headers: %q is no header that HTTP can carry; look for spaces in its name and line ends in its value", name)
		case owned(name) || ofBody(name):
			add("headers: %q is set by the client, by seriatim or by HTTP itself; remove it", name)
		case c.Audience != "" && strings.EqualFold(name, "Authorization"):
			add("headers: %q is set from the audience; remove one of the two", name)
		}
	}
	return errors.Join(faults...)
}

func (c Config) checkURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return errors.New("url: must be absolute, http or https")
	case u.User != nil:
		return errors.New("url: must not hold a user name or password; send them as a header Authorization")
	case u.Fragment != "":
		return errors.New("url: has a fragment, which is never sent; remove it")
	}
	return nil
}

// signer returns nil when secret is empty.
func signer(secret string) (*webhooks.Webhook, error) {
	if secret == "" {
		return nil, nil
	}
	if strings.TrimPrefix(secret, "whsec_") == "" {
		return nil, errors.New("secret: is empty after whsec_; generate one of 24 to 64 random bytes in base64")
	}
	s, err := webhooks.NewWebhook(secret)
	if err != nil {
		return nil, errors.New("secret: is not base64 (padded, standard alphabet), with or without the prefix whsec_")
	}
	return s, nil
}
