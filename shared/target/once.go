package target

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
)

// sendOnce sets the body and the idempotency key in the one way in which
// net/http does not send the request again after a reused connection broke.
//
// The transport resends when it can have the body again (there is none, or
// GetBody is set) and takes the request for idempotent: by its method (GET,
// HEAD, OPTIONS), or by a header Idempotency-Key or X-Idempotency-Key. Hence:
//
//   - a body comes without GetBody;
//   - no body is, for the methods that usually have none, an empty one that
//     the transport finds out to be empty only when it has begun to send;
//   - for the others it has to be NoBody, else it would travel chunked instead
//     of with Content-Length 0; there the headers' names are written in lower
//     case, which is the same on the wire and unknown to the transport.
//
// One case stays: over HTTP/2, a request with NoBody is sent again when the
// peer resets its stream with REFUSED_STREAM, before which the protocol allows
// no processing, or PROTOCOL_ERROR, which peers send for a request they could
// not read.
func sendOnce(out *http.Request, req Request) {
	out.GetBody = nil
	out.ContentLength = int64(len(req.Body))
	out.Body = io.NopCloser(bytes.NewReader(req.Body))
	if len(req.Body) == 0 && !usuallyWithoutBody(out.Method) {
		out.Body = http.NoBody
	}
	if values, ok := out.Header["X-Idempotency-Key"]; ok {
		delete(out.Header, "X-Idempotency-Key")
		out.Header["x-idempotency-key"] = values
	}
	out.Header["idempotency-key"] = []string{cmp.Or(req.IdempotencyKey, req.ID)}
}

// usuallyWithoutBody has the methods for which net/http looks whether a body
// of unknown length is empty.
func usuallyWithoutBody(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return true
	}
	return false
}
