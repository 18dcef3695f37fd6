// Package problem is the one place where errors become HTTP answers:
// problem details as of RFC 9457, with the types of API.md section 1.
//
// Code anywhere below a handler returns an error. Where it knows what the
// client should be told it makes that an [*Error] and wraps it with %w like
// any other; the handler passes what it got to [Write]. The client sees the
// fixed text of the problem, never the cause; the log sees both.
package problem
