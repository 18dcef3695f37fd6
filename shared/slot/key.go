package slot

import "net/url"

// Keys names the Redis keys of one lane. All share one hash tag, so that they live in one slot of a Redis Cluster. It is the
// only place where a key of a lane is put together.
type Keys struct{ prefix string }

// KeysOf returns the names for the lane of key. The key is percent-encoded, so that a brace of its own cannot end the tag.
func KeysOf(key string) Keys { return Keys{prefix: "seriatim:{" + url.PathEscape(key) + "}:"} }

// State is the hash of the lane's scalars.
func (k Keys) State() string { return k.prefix + "s" }

// Queue is the hash from open ticket to its entry.
func (k Keys) Queue() string { return k.prefix + "q" }

// Leases is the sorted set of started and unresolved tickets by lease expiry.
func (k Keys) Leases() string { return k.prefix + "l" }

// Resolved is the sorted set of tickets resolved before they could start.
func (k Keys) Resolved() string { return k.prefix + "d" }

// Voided is the sorted set of tickets whose place was given up.
func (k Keys) Voided() string { return k.prefix + "v" }

// Journal is the list of the lane's last transitions, in the text of package journal.
func (k Keys) Journal() string { return k.prefix + "j" }

// Listed is the sorted set of the requests that have ended and whose record is in Redis alone: member "ticket id status end", score = ticket.
func (k Keys) Listed() string { return k.prefix + "f" }

// Adopted is the sorted set of tickets of an earlier life of the lane, or of a gap, that have not started since; score = ticket.
func (k Keys) Adopted() string { return k.prefix + "o" }

// Record is the hash with the record of one request.
func (k Keys) Record(requestID string) string { return k.prefix + "i:" + requestID }

// Response is the response of one request, once it has ended with one: a key of its own, so that it can go before its record.
func (k Keys) Response(requestID string) string { return k.prefix + "b:" + requestID }

// DeadLetters is the sorted set of dead requests on a lane that is not durable: member "ticket id", score = end in ms.
func (k Keys) DeadLetters() string { return k.prefix + "x" }

// DeadLetter is all that is kept of one of them, with what was submitted.
func (k Keys) DeadLetter(requestID string) string { return k.prefix + "p:" + requestID }

// Wake is the pub/sub channel on which scripts name the ticket that may start next.
func (k Keys) Wake() string { return k.prefix + "w" }

// Ended is the pub/sub channel on which scripts name the requests that have ended.
func (k Keys) Ended() string { return k.prefix + "e" }

// record names what scripts know of one request.
func (k Keys) record(requestID string) []string {
	return []string{k.Record(requestID), k.Response(requestID)}
}

// all are the keys of a script: of the lane, the records it is about, and more of the lane.
func (k Keys) all(records []string) []string {
	lane := append([]string{k.State(), k.Queue(), k.Leases(), k.Resolved(), k.Voided()}, records...)
	return append(lane, k.Journal(), k.Adopted(), k.Listed())
}

// intervalKey holds the interval that the lanes of a policy have shown lately, in microseconds.
func intervalKey(policy string) string {
	return "seriatim-policy:{" + url.PathEscape(policy) + "}:interval"
}

// pausedKey is the set of targets against which nothing starts.
const pausedKey = "seriatim-targets:{paused}"

// missingKey counts the missing heads of one minute over all lanes.
func missingKey(minute string) string { return "seriatim-missing:{" + minute + "}" }
