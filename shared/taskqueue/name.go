package taskqueue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
)

// taskIDLength is the length of a task id in characters: 200 bits of hash.
const taskIDLength = 40

var taskIDEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// RequestTaskID returns the id of the task that stands for one ticket of a lane
// at snooze count k: 40 characters of a-z and 2-7. It is a pure function, so a
// driver finds the task of another ticket without being told its name.
//
// Each part is needed. A lane that begins again has a new incarnation, yet may
// issue a number anew before anyone notices, hence the request id; a used name
// stays blocked for up to 24 h, hence k. The hash spreads the names: sequential
// ones slow down the whole queue.
func RequestTaskID(key string, incarnation, ticket int64, requestID string, k int) string {
	return taskID("request", key, number(incarnation), number(ticket), requestID, number(int64(k)))
}

// KickTaskID returns the id of a lane's kick number seq, in the form of
// [RequestTaskID] and never equal to one of its ids.
func KickTaskID(key string, incarnation, seq int64) string {
	return taskID("kick", key, number(incarnation), number(seq))
}

// FlushTaskID returns the id of the task that carries how a request ended to
// the durable records, in the form of [RequestTaskID] and never equal to one of
// its ids.
func FlushTaskID(key string, incarnation, ticket int64, requestID string) string {
	return taskID("flush", key, number(incarnation), number(ticket), requestID)
}

// taskID hashes the parts, each behind its length: no two lists of parts share
// an input.
func taskID(parts ...string) string {
	var in []byte
	for _, part := range parts {
		in = binary.AppendUvarint(in, uint64(len(part)))
		in = append(in, part...)
	}
	sum := sha256.Sum256(in)
	return taskIDEncoding.EncodeToString(sum[:])[:taskIDLength]
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
