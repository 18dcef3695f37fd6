package idempotency

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Header is the name of the header that carries the idempotency key.
const Header = "Idempotency-Key"

// MaxKeyLength is the length of the longest idempotency key, in characters
// after quotes and escapes are taken off.
const MaxKeyLength = 255

// ErrMalformed is wrapped by every error of [ParseKey]. The text around it says
// what is wrong and what to do, without the value, so that it can be shown to
// the client as it stands.
var ErrMalformed = errors.New("malformed " + Header + " header")

// ParseKey reads the idempotency key of a request. Present is false, and the
// key empty, when there is no such header; it is true beside an error.
//
// The draft's form is a structured-field string, in double quotes with \" and
// \\ as its escapes; parameters after it are ignored, as RFC 9651 says. Many
// clients send the bare text instead: both forms of one text are one key. A
// key is 1-255 printable ASCII characters (0x20-0x7E). A bare one loses the
// white space around it and cannot hold a double quote, which would be a
// quoted key cut short, nor a comma, which is how proxies join two headers.
// The same value sent twice is one; two different ones are refused. Every
// error is an ErrMalformed.
func ParseKey(h http.Header) (key string, present bool, err error) {
	values := h.Values(Header)
	if len(values) == 0 {
		return "", false, nil
	}
	for i, value := range values {
		one, err := parseValue(strings.Trim(value, " \t"))
		if err != nil {
			return "", true, err
		}
		if i > 0 && one != key {
			return "", true, malformed("it was sent with %d different values; send one", len(values))
		}
		key = one
	}
	return key, true, nil
}

func parseValue(value string) (string, error) {
	key := value
	if strings.HasPrefix(value, `"`) {
		item, err := httpsfv.UnmarshalItem([]string{value})
		if err != nil {
			return "", malformed(`the quoted value is no structured-field string; end it with a quote, write a quote inside as \" and a backslash as \\, and send printable ASCII only`)
		}
		key, _ = item.Value.(string) // a value that begins with a quote is a string
	} else if err := checkBare(value); err != nil {
		return "", err
	}
	if key == "" {
		return "", malformed("it is empty; send 1-%d characters or leave the header out", MaxKeyLength)
	}
	if len(key) > MaxKeyLength {
		return "", malformed("it is %d characters long, the most is %d; send a shorter one, for example a UUID", len(key), MaxKeyLength)
	}
	return key, nil
}

func checkBare(value string) error {
	for i := range len(value) {
		switch c := value[i]; {
		case c < ' ' || c > '~':
			return malformed("the character at byte %d is not printable ASCII; encode the key, for example as base64url", i)
		case c == '"', c == ',':
			return malformed(`a bare value cannot hold %q (byte %d); put the whole key in double quotes`, c, i)
		}
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
