package collapse

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
)

// Key is a flight key: reads with equal keys are identical, and one answer
// serves them all.
type Key struct {
	// Origin names whose answers these are; they share one budget.
	Origin string

	// Read is everything that an answer may depend on: path, query, the
	// request headers it varies by, and the credential. It reaches Redis as a
	// hash only.
	Read string
}

// The names in Redis. All of an origin share one hash tag, so that a script may
// touch an entry and its budget; the origin is percent-encoded, so that a
// brace of its own cannot end the tag. No name is put together elsewhere.

func prefix(origin string) string { return "seriatim-fetch:{" + url.PathEscape(origin) + "}:" }

// entry is the hash of one flight key, and the name of the channel on which
// its followers are woken.
func (k Key) entry() string {
	sum := sha256.Sum256([]byte(k.Read))
	return prefix(k.Origin) + "e:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// budget is the hash that accounts for the bytes of the origin's entries.
func (k Key) budget() string { return prefix(k.Origin) + "bytes" }
