// Package target calls the code that does the work: an HTTP endpoint ([HTTP])
// or a Go function linked into the bundle ([Func]). Both are a [Target]: one
// call of Do is one attempt, and its [Result] says what becomes of the request.
//
// What the package holds to:
//
//  1. One Do sends at most one request that a target can act on. net/http by
//     itself sends some requests again when a reused connection breaks,
//     those with an Idempotency-Key header among them; here it does not,
//     since the second would run under the same fence (once.go has the one
//     exception, an HTTP/2 stream that the peer itself rejects).
//  2. Nothing but a complete 2xx response is accepted. A redirect is never
//     followed: it is a status like any other.
//  3. An attempt is not counted only when the target did not work on it: it
//     answered 429 or 503, or no connection to it was had.
//  4. Nothing that a target sent, and no secret, key or body, is in an error.
//  5. No URL comes from a request, no cookie is kept, no proxy is taken from
//     the environment, and a response is passed on as it came, compressed or
//     not.
//
// What remains: a target that did the work and whose answer was lost is called
// again (reason timeout, broken or lease-lost). It tells the two apart by the
// idempotency key, and an outdated caller by the fence.
package target
