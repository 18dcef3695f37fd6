// Package idempotency says when two submissions are the same request: it reads
// the Idempotency-Key header, names requests and fingerprints them.
//
// It follows draft-ietf-httpapi-idempotency-key-header-07. Within one lane:
//
//  1. The same idempotency key gives the same request id, on every instance
//     and at any time, without a look-up.
//  2. The same idempotency key with another fingerprint is another request
//     that reuses the key by mistake (422), whatever became of the first.
//  3. Without an idempotency key every submission is a request of its own.
//
// An idempotency key may carry the client's own secrets: it is in no error of
// this package and belongs in no log.
package idempotency
