// Package logging writes log lines as Cloud Logging reads them from standard
// error: one JSON object a line with severity, message and time, tied to the
// request's trace.
//
// A logger travels in the context: the entry point puts one there with the
// request's trace, each layer adds what it learns ([WithContext]), and
// whoever has something to say takes it out ([FromContext]). Messages are
// constants; values are attributes under the names of this package. A payload
// or an idempotency key is never logged.
package logging
