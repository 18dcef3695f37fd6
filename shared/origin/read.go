package origin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatim/seriatim/shared/collapse"
)

// Caller is what a client says beside the path and the query.
type Caller struct {
	// Header is that of its request; only fields that the configuration lists
	// are looked at.
	Header http.Header
	// Authorization is the credential to pass on; empty: none.
	Authorization string
}

// Read is one read of an origin. It holds nothing that ends with the client,
// and is safe for concurrent use.
type Read struct {
	// Key is equal for reads that one answer may serve. Its Read is the URL, its
	// Variant what else of the client's the origin sees.
	Key collapse.Key

	origin *Origin
	url    *url.URL
	header http.Header // of the request
}

// Read prepares a read of a path, as it was sent, without the slash before it,
// and a query. Every error is an [ErrPath].
func (o *Origin) Read(path, query string, caller Caller) (*Read, error) {
	u, err := o.locate(path, query)
	if err != nil {
		return nil, err
	}
	r := &Read{origin: o, url: u, header: http.Header{"User-Agent": {"seriatim"}, "Via": {"1.1 seriatim"}}}
	var parts []string
	pass := func(name, value string) {
		r.header.Set(name, value)
		parts = append(parts, name, value)
	}
	for _, name := range o.config.Vary {
		if values := caller.Header.Values(name); len(values) > 0 {
			pass(name, strings.Join(values, ", "))
		}
	}
	if _, own := o.config.Headers["Authorization"]; caller.Authorization != "" && !own {
		pass("Authorization", caller.Authorization)
	}
	for name, value := range o.config.Headers {
		r.header.Set(name, value)
	}
	r.Key = collapse.Key{Origin: o.config.Name, Read: u.String(), Variant: fmt.Sprintf("%q", parts)}
	return r, nil
}
