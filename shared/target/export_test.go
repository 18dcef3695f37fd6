package target

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"
)

// Trust makes h accept the certificates of a test server.
func (h *HTTP) Trust(pool *x509.CertPool) {
	h.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
}

// RetryAfter is retryAfter.
func RetryAfter(header http.Header, now time.Time) time.Duration { return retryAfter(header, now) }
