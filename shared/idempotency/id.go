package idempotency

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
)

// idAlphabet is RFC 4648's base32 in lower case: safe in a URL, a Redis key, a
// Firestore document id and a log, and the same whatever a system does to case.
const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// idLength is the length of a request id, in characters: 130 bits.
const idLength = 26

var idEncoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

// RequestID returns the id of the request that idempotencyKey names in the lane
// laneKey: the first 26 characters of lower-case base32(SHA-256(laneKey, 0x00,
// idempotencyKey)). A lane key holds no 0x00, so no two pairs share an input.
func RequestID(laneKey, idempotencyKey string) string {
	sum := sha256.Sum256([]byte(laneKey + "\x00" + idempotencyKey))
	return idEncoding.EncodeToString(sum[:])[:idLength]
}

// NewRequestID returns an id for a request without an idempotency key: 128 bits
// of random, in the form of [RequestID]. It panics when random fails, which
// crypto/rand.Reader never does.
func NewRequestID(random io.Reader) string {
	var bits [16]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		panic(fmt.Sprintf("new request id: read 16 random bytes: %v", err))
	}
	return idEncoding.EncodeToString(bits[:])
}

// ValidRequestID reports whether id has the form of a request id: 26 characters
// of a-z and 2-7. Only such an id may become part of a Redis key or a document
// name.
func ValidRequestID(id string) bool {
	return len(id) == idLength && strings.Trim(id, idAlphabet) == ""
}
