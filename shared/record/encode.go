package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrEncoding says that bytes are no encoded record.
var ErrEncoding = errors.New("malformed encoded record")

// packed is the first line of an encoded record: the record but for its large
// parts, which follow it verbatim.
type packed struct {
	Record   Record `json:"record"`
	Response int    `json:"response"` // bytes
	Body     int    `json:"body"`     // bytes
}

// Encode packs all of r, for a store to take later.
func (r Record) Encode() []byte {
	p := packed{Record: r, Response: len(r.Response)}
	p.Record.Response = nil
	var body []byte
	if r.Payload != nil {
		body = r.Payload.Body
		p.Body = len(body)
	}
	head, _ := json.Marshal(p) // strings, numbers and times of a valid record can always be encoded
	return bytes.Join([][]byte{head, []byte("\n"), r.Response, body}, nil)
}

// Decode reads what Encode packed. The error is ErrEncoding.
func Decode(encoded []byte) (Record, error) {
	head, rest, found := bytes.Cut(encoded, []byte("\n"))
	var p packed
	if err := json.Unmarshal(head, &p); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if !found || p.Response < 0 || p.Body < 0 || len(rest) != p.Response+p.Body || p.Body > 0 && p.Record.Payload == nil {
		return Record{}, fmt.Errorf("%w: %d bytes behind its head", ErrEncoding, len(rest))
	}
	r := p.Record
	if p.Response > 0 {
		r.Response = rest[:p.Response]
	}
	if p.Body > 0 {
		r.Payload.Body = rest[p.Response:]
	}
	return r, nil
}
