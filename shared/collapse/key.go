package collapse

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
)

// Key is a flight key: reads with equal keys are identical, and one answer
// serves them all.
type Key struct {
	// Origin names whose answers these are; they share one budget.
	Origin string

	// Read is what is read, such as a URL with its query: what
	// [Group.Invalidate] forgets, in all variants.
	Read string

	// Variant is everything else that an answer may depend on: the request
	// headers it varies by, and the credential.
	Variant string
}

// The names in Redis. All of an origin share one hash tag, so that a script may
// touch an entry and its budget; the origin is percent-encoded, so that a
// brace of its own cannot end the tag. Read and Variant reach Redis as hashes
// only. No name is put together elsewhere.

func prefix(origin string) string { return "seriatim-fetch:{" + url.PathEscape(origin) + "}:" }

func (k Key) name(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefix(k.Origin) + kind + base64.RawURLEncoding.EncodeToString(sum[:])
}

// entry is the hash of one flight key.
func (k Key) entry() string { return k.name("e:", strconv.Quote(k.Read)+k.Variant) }

// epoch is the string that all variants of a read are valid under, and the name
// of the channel on which their followers are woken.
func (k Key) epoch() string { return k.name("v:", k.Read) }

// budget is the hash that accounts for the bytes of the origin's entries.
func (k Key) budget() string { return prefix(k.Origin) + "bytes" }
