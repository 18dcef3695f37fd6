package origin

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// ErrPath is in every error about a path that a read may not have. The text
// around it can be shown to the client.
var ErrPath = errors.New("the path cannot be read from the origin")

// maxEncoded is how often a path may be percent-encoded.
const maxEncoded = 4

// once undoes one layer of encoding, of those characters only by which a path
// could lead elsewhere: an origin may decode more often than it should.
var once = strings.NewReplacer("%25", "%", "%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`)

// locate returns the URL of a path and a query, both as they were sent. An
// empty path is the origin's own URL.
func (o *Origin) locate(path, query string) (*url.URL, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	raw := o.base.EscapedPath()
	if path != "" {
		raw = o.prefix + "/" + escape(path)
	}
	if query = join(o.base.RawQuery, query); query != "" {
		raw += "?" + query
	}
	u, err := url.Parse(o.base.Scheme + "://" + o.base.Host + raw)
	if err != nil {
		return nil, fmt.Errorf(`%w: a "%%" is not followed by two hexadecimal digits, or there is a control character`, ErrPath)
	}
	if !o.holds(u) {
		return nil, fmt.Errorf("%w: it leads out of it", ErrPath)
	}
	return u, nil
}

// holds reports whether u is of this origin.
func (o *Origin) holds(u *url.URL) bool {
	path := u.EscapedPath()
	below := path == o.prefix || strings.HasPrefix(path, o.prefix+"/")
	return u.Scheme == o.base.Scheme && address(u) == address(o.base) && u.User == nil && u.Opaque == "" && below &&
		!strings.ContainsFunc(u.Path, unicode.IsControl) && checkPath(strings.TrimPrefix(path[len(o.prefix):], "/")) == nil
}

// address is host and port, in one form.
func address(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// checkPath refuses what a server could resolve to a place above, or to
// another host, however often it decodes.
func checkPath(path string) error {
	for range maxEncoded {
		segments := strings.Split(path, "/")
		last := len(segments) - 1
		if slices.Contains(segments[:last], "") || slices.ContainsFunc(segments, dots) || strings.Contains(path, `\`) {
			return fmt.Errorf(`%w: it has a segment ".", ".." or "", or a backslash, maybe encoded`, ErrPath)
		}
		decoded := once.Replace(path)
		if decoded == path {
			return nil
		}
		path = decoded
	}
	return fmt.Errorf("%w: it is percent-encoded again and again", ErrPath)
}

// dots ignores parameters: to some servers "..;x" is "..".
func dots(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	return name == "." || name == ".."
}

// escape encodes what ought to have been: net/url would else decode a path
// and encode it anew, and make a "%2F" a "/".
func escape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// join joins two queries.
func join(a, b string) string {
	if a != "" && b != "" {
		return a + "&" + b
	}
	return a + b
}
