package httpcache

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// hopByHop fields belong to one connection (RFC 9110, 7.6.1), or are written
// anew for every message.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Alt-Svc",
}

// EndToEnd is a copy of an answer's header without the fields that end at this
// hop, those that Connection names among them, and without those that only
// Seriatim itself may set.
func EndToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range append(elements(h, "Connection"), hopByHop...) {
		out.Del(name)
	}
	for name := range out {
		if strings.HasPrefix(name, "Seriatim-") {
			delete(out, name)
		}
	}
	return out
}

// Revalidatable reports whether the origin can be asked if a stored answer has
// changed.
func Revalidatable(status int, h http.Header) bool {
	return status == http.StatusOK && (h.Get("ETag") != "" || h.Get("Last-Modified") != "")
}

// SetConditions makes a request ask whether the answer of header stored has
// changed.
func SetConditions(request, stored http.Header) {
	for condition, validator := range map[string]string{"If-None-Match": "ETag", "If-Modified-Since": "Last-Modified"} {
		if value := stored.Get(validator); value != "" {
			request.Set(condition, value)
		}
	}
}

// ErrOther says that a 304 speaks of another version than the stored one.
var ErrOther = errors.New("the origin answered 304 about a version that is not stored")

// Freshen returns the header of a stored answer that a 304 has confirmed (RFC
// 9111, 3.2). The error is [ErrOther].
func Freshen(stored, notModified http.Header) (http.Header, error) {
	if tag := notModified.Get("ETag"); tag != "" && stored.Get("ETag") != "" && opaque(tag) != opaque(stored.Get("ETag")) {
		return nil, ErrOther
	}
	out := stored.Clone()
	out.Del("Age") // how old it is, the 304 says
	for name, values := range notModified {
		if !slices.Contains([]string{"Content-Encoding", "Content-Type", "Content-Range"}, name) {
			out[name] = values
		}
	}
	return out, nil
}

func opaque(tag string) string { return strings.TrimPrefix(tag, "W/") }
