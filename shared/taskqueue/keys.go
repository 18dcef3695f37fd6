package taskqueue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
)

// MACHeader is the header of a task's HTTP request that carries the MAC of its
// body: HMAC-SHA256 over the exact bytes, in lower-case hexadecimal.
const MACHeader = "Seriatim-Mac"

// Keys are the HMAC keys that ingest and executor share. The first one signs,
// all of them verify: a key is changed without losing a task by deploying
// "new,old", and "new" alone once the tasks of before are gone (32 days). The
// zero value signs nothing and verifies nothing. Keys never show their bytes,
// whichever way they are printed, and are safe for concurrent use.
type Keys struct {
	// A function, since fmt follows a pointer: where Keys lie in an unexported
	// field, no String method is called, and printing shows an address.
	ring func() [][]byte
}

// ParseKeys reads comma-separated keys, the form of SERIATIM_ENVELOPE_KEY.
// White space around a key is not part of it; an empty key is refused. A key
// should be 32 random bytes in any printable encoding.
func ParseKeys(list string) (Keys, error) {
	parts := strings.Split(list, ",")
	ring := make([][]byte, len(parts))
	for i, part := range parts {
		ring[i] = []byte(strings.TrimSpace(part))
		if len(ring[i]) == 0 {
			return Keys{}, fmt.Errorf("HMAC key %d of %d is empty; give at least one key, separated by single commas", i+1, len(parts))
		}
	}
	return Keys{ring: func() [][]byte { return ring }}, nil
}

// Empty reports whether there is no key.
func (k Keys) Empty() bool { return k.ring == nil }

// String says how many keys there are, and nothing of them.
func (k Keys) String() string {
	if k.Empty() {
		return "no HMAC keys"
	}
	return fmt.Sprintf("%d HMAC keys (redacted)", len(k.ring()))
}

// GoString is String, for %#v.
func (k Keys) GoString() string { return k.String() }

// LogValue is String, for slog.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k Keys) sign(body []byte) string { return mac(k.ring()[0], body) }

// verify compares text, not decoded bytes: hexadecimal has two forms of one
// byte, and a MAC has one.
func (k Keys) verify(body []byte, got string) bool {
	if k.Empty() {
		return false
	}
	ok := false
	for _, key := range k.ring() {
		ok = hmac.Equal([]byte(mac(key, body)), []byte(got)) || ok
	}
	return ok
}

func mac(key, body []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
