// Package httpcache holds what HTTP asks of a shared cache, as pure functions:
// whether an answer may be kept and for how long (RFC 9111, RFC 5861), how it
// is revalidated, what it looks like in storage, and the field that tells what
// the cache did (RFC 9211). It keeps nothing and calls nobody.
//
// What the cache in front of it must do for this to be right: send the origin
// nothing of a client's request but what tells answers apart. Then an answer's
// Vary names nothing new, and only "*" needs a rule.
//
// Cache-Control is parsed by pquerna/cachecontrol: small, without
// dependencies of its own, and what other Go caches in production use. What
// it cannot parse is treated as if it forbade sharing.
package httpcache
