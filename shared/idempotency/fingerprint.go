package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint condenses what makes two requests with one idempotency key the
// same: the decoded lane key, the target the client named ("" when it named
// none), the Content-Type and the body. It is 52 characters of a-z and 2-7, a
// SHA-256 over the parts, each behind its length, so that no byte can move from
// one part to the next unnoticed.
//
// The content type is taken as it was sent, byte for byte: "text/plain" and
// "Text/Plain; charset=utf-8" differ. A client that retries sends the same
// bytes again, and to guess which differences do not matter would sooner or
// later replay a wrong response.
func Fingerprint(laneKey, explicitTarget, contentType string, body []byte) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(laneKey), []byte(explicitTarget), []byte(contentType), body} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return idEncoding.EncodeToString(h.Sum(nil))
}
