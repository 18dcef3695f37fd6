package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/redis/go-redis/v9"
)

const (
	envURL = "SERIATIM_REDIS_URL"
	envCA  = "SERIATIM_REDIS_CA"
)

// Config says where Redis is and whom to trust there. It holds the password:
// log it only through its String or LogValue, which leave the password out.
type Config struct {
	// URL is redis://[user][:password@]host[:port][/database], or rediss://
	// for TLS. The port defaults to 6379, the database to 0. Query parameters
	// are refused: all other settings are fixed by Open.
	URL string

	// CA holds the certificates, in PEM, that the server's own certificate is
	// checked against; allowed with rediss:// only.
	// Defaults to the certificates of the system.
	CA string
}

// FromEnv reads SERIATIM_REDIS_URL (required) and SERIATIM_REDIS_CA
// (optional). lookup is os.LookupEnv, or a map in a test. The error reports
// all faults, each with its variable, and never quotes the URL, which may
// hold a password.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	var cfg Config
	cfg.URL, _ = lookup(envURL)
	cfg.CA, _ = lookup(envCA)
	if cfg.URL == "" {
		return Config{}, errors.New(envURL + " is not set: want redis://host:port or rediss://host:port")
	}
	if _, err := cfg.options(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// String is the URL without its password.
func (c Config) String() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return "invalid URL"
	}
	return u.Redacted()
}

// LogValue is String, so that slog does not print the fields.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// options holds address, credentials, database and TLS; nothing else is set.
func (c Config) options() (*redis.Options, error) {
	opts, urlErr := parseURL(c.URL)
	pool, caErr := parseCA(c.CA)
	if err := errors.Join(urlErr, caErr); err != nil {
		return nil, err
	}
	switch {
	case pool == nil:
	case opts.TLSConfig == nil:
		return nil, fmt.Errorf("%s is set, but %s is not a rediss:// URL: the certificates would not be used", envCA, envURL)
	default:
		opts.TLSConfig.RootCAs = pool
	}
	return opts, nil
}

func parseURL(raw string) (*redis.Options, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The *url.Error quotes the URL, its cause a part of it: say neither.
		return nil, fmt.Errorf("%s is no URL: percent-encode special characters of the password", envURL)
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return nil, fmt.Errorf("%s: scheme %q, want redis:// or rediss://", envURL, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%s names no host", envURL)
	case u.RawQuery != "":
		return nil, fmt.Errorf("%s has query parameters: timeouts and pool size are fixed, remove them", envURL)
	}
	opts, err := redis.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envURL, err)
	}
	if opts.TLSConfig != nil {
		opts.TLSConfig.MinVersion = tls.VersionTLS12
	}
	return opts, nil
}

// parseCA returns nil for an empty text: the certificates of the system.
func parseCA(text string) (*x509.CertPool, error) {
	if text == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(text)) {
		return nil, fmt.Errorf("%s holds no certificate: want PEM blocks that begin with -----BEGIN CERTIFICATE-----", envCA)
	}
	return pool, nil
}
