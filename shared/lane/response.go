package lane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seriatim/seriatim/shared/target"
)

// Response is the target's response as a record keeps it.
type Response struct {
	Status          int    `json:"status"`
	ContentType     string `json:"content_type,omitempty"`
	ContentEncoding string `json:"content_encoding,omitempty"`
	// Truncated says that Body is a prefix.
	Truncated bool   `json:"truncated,omitempty"`
	Body      []byte `json:"-"`
}

// ErrResponse says that a stored response cannot be read.
var ErrResponse = errors.New("unreadable stored response")

// EncodeResponse packs what a record keeps of r: one line of JSON, then at most limit bytes of the body, verbatim. A nil r
// packs to nothing.
func EncodeResponse(r *target.Response, limit int) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	stored := Response{
		Status: r.Status, ContentType: r.ContentType, ContentEncoding: r.ContentEncoding,
		Truncated: r.Truncated || len(r.Body) > limit, Body: r.Body[:min(len(r.Body), limit)],
	}
	return stored.encode()
}

func (r Response) encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode response of status %d: %w", r.Status, err)
	}
	return append(append(head, '\n'), r.Body...), nil
}

// DecodeResponse reads what EncodeResponse packed; ok is false for a record without a response. The error is ErrResponse.
func DecodeResponse(packed []byte) (r Response, ok bool, err error) {
	if len(packed) == 0 {
		return Response{}, false, nil
	}
	head, body, found := bytes.Cut(packed, []byte("\n"))
	if !found {
		return Response{}, false, fmt.Errorf("%w: no header line", ErrResponse)
	}
	if err := json.Unmarshal(head, &r); err != nil {
		return Response{}, false, fmt.Errorf("%w: %w", ErrResponse, err)
	}
	r.Body = body
	return r, true, nil
}
