// Package lanekey reads and writes a lane's key as one percent-encoded path
// segment: the {key} of every URL under /v1/lanes/, the Location header, and
// the Seriatim-Key header that a target receives.
//
// A key is 1-256 bytes of valid UTF-8, holds no control character (C0, DEL and
// C1, U+0000-U+001F and U+007F-U+009F) and is neither "." nor "..", which
// proxies and clients remove from a path. Everything else is a legal key,
// "/", "%", "{", "}" and ":" among them. Keys are compared byte for byte:
// nothing is case-folded or normalized.
package lanekey

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the length of the longest key, in bytes after decoding.
const MaxBytes = 256

// ErrMalformed is wrapped by every error of this package. The text around it
// says what is wrong and what to do, without the key, so that it can be shown
// to the client as it stands.
var ErrMalformed = errors.New("malformed key")

// Parse decodes a path segment, as it was sent (of [net/url.URL.EscapedPath],
// never of Path, in which "%2F" is already a "/"), and checks the key in it.
// Every error is an ErrMalformed.
func Parse(escapedSegment string) (string, error) {
	if strings.Contains(escapedSegment, "/") {
		return "", malformed(`the key is more than one path segment; send "/" as %%2F`)
	}
	key, err := url.PathUnescape(escapedSegment)
	if err != nil {
		return "", malformed(`a "%%" is not followed by two hexadecimal digits; percent-encode the key, "%%" itself as %%25`)
	}
	if err := Check(key); err != nil {
		return "", err
	}
	return key, nil
}

// Check reports whether key, already decoded, may name a lane. Every error is
// an ErrMalformed.
func Check(key string) error {
	switch {
	case key == "":
		return malformed("the key is empty; send 1-%d bytes", MaxBytes)
	case len(key) > MaxBytes:
		return malformed("the key is %d bytes long after decoding, the most is %d; send a shorter one, for example a hash of it", len(key), MaxBytes)
	case !utf8.ValidString(key):
		return malformed("the key is not valid UTF-8 after decoding; encode it as UTF-8 before percent-encoding it")
	case key == "." || key == "..":
		return malformed(`the key must not be "." or "..", which proxies remove from a path; send another one, for example with a prefix`)
	}
	if i := strings.IndexFunc(key, unicode.IsControl); i >= 0 {
		return malformed("the key has a control character at byte %d after decoding; leave it out or encode it, for example as base64url", i)
	}
	return nil
}

// Escape returns key as one path segment of ASCII characters that [Parse]
// turns back into key. Clients may send other forms of the same key: compare
// keys, never escaped forms that came from outside.
func Escape(key string) string { return url.PathEscape(key) }

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
