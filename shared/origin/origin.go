package origin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/httpcache"
	"github.com/seriatim/seriatim/shared/policy"
)

// maxRedirects bounds the redirects of one fetch.
const maxRedirects = 5

// ErrRedirect says that an origin redirects out of itself, or without end.
var ErrRedirect = errors.New("a redirect leads out of the origin, or there are too many")

// Origin is one source of reads, with connections of its own. It is safe for
// concurrent use.
type Origin struct {
	config    *policy.Origin
	base      *url.URL
	prefix    string // path of base, encoded, without a slash at its end
	transport *http.Transport
	client    *http.Client
}

// New returns the origin that the configuration describes; nothing is
// contacted. The error is a URL that cannot be read.
func New(config *policy.Origin) (*Origin, error) {
	base, err := url.Parse(config.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("origin %q: url: must be absolute, http or https", config.Name)
	}
	o := &Origin{config: config, base: base, prefix: strings.TrimSuffix(base.EscapedPath(), "/"), transport: newTransport()}
	o.client = &http.Client{Transport: o.transport, CheckRedirect: o.follow}
	return o, nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // not the environment's
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    64, // most reads are collapsed
		IdleConnTimeout:        30 * time.Second,
		DisableCompression:     true, // answers stay as the origin sent them
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Close closes the idle connections. Fetches under way go on.
func (o *Origin) Close() { o.transport.CloseIdleConnections() }

// Policy is by which reads of the origin are collapsed. stamp is
// [collapse.Policy]'s.
func (o *Origin) Policy(stamp string) collapse.Policy {
	return collapse.Policy{
		NegativeTTL: o.config.NegativeTTL, Timeout: o.config.Timeout, MaxBytes: o.config.MaxBytes, Stamp: stamp,
	}
}

func (o *Origin) defaults() httpcache.Defaults {
	return httpcache.Defaults{
		Fresh: o.config.TTL, Negative: o.config.NegativeTTL,
		WhileRevalidate: o.config.StaleWhileRevalidate, IfError: o.config.StaleIfError,
	}
}

func (o *Origin) follow(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || !o.holds(next.URL) {
		return ErrRedirect
	}
	return nil
}
