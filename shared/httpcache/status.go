package httpcache

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// cacheName is our own in Cache-Status.
const cacheName = "seriatim"

// Status is what a cache did for one request (RFC 9211).
type Status struct {
	// Hit: answered without asking the origin.
	Hit bool
	// Forward says why the origin was asked, where it was: miss, stale, bypass.
	Forward string
	// Stored: the answer was kept.
	Stored bool
	// Collapsed: it came from another caller's request.
	Collapsed bool
	// Lifetime says that TTL is known; negative when the answer is stale.
	Lifetime bool
	TTL      time.Duration
	// Detail is a token for who operates the cache.
	Detail string
}

// Add appends the status to Cache-Status: caches nearer to the origin have
// written theirs already.
func (s Status) Add(h http.Header) error {
	item := httpsfv.NewItem(httpsfv.Token(cacheName))
	add := func(name string, given bool, value any) {
		if given {
			item.Params.Add(name, value)
		}
	}
	add("hit", s.Hit, true)
	add("fwd", s.Forward != "", httpsfv.Token(s.Forward))
	add("stored", s.Stored, true)
	add("collapsed", s.Collapsed, true)
	add("ttl", s.Lifetime, int64(s.TTL/time.Second))
	add("detail", s.Detail != "", httpsfv.Token(s.Detail))
	value, err := httpsfv.Marshal(httpsfv.List{item})
	if err != nil {
		return fmt.Errorf("encode Cache-Status: %w", err)
	}
	h.Add("Cache-Status", value)
	return nil
}
