package record

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// nameLength is the length of a document's name, in characters.
const nameLength = 52

// name is the document of a request: a hash, since Firestore refuses some
// names, slows down for rising ones, and a lane's key may hold any character.
// A lane key holds no 0x00 that a client could move; an id holds none either.
func name(key, id string) string {
	sum := sha256.Sum256([]byte(key + "\x00" + id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
