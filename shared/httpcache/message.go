package httpcache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Encode writes an answer as it would travel over HTTP/1.1: what net/http
// reads back. The header must be an end-to-end one ([EndToEnd]).
func Encode(status int, h http.Header, body []byte) []byte {
	return append(head(status, h, int64(len(body))), body...)
}

// EncodeStream is Encode for a body that is not held; a negative length is one
// that nobody knows.
func EncodeStream(status int, h http.Header, body io.Reader, length int64) io.Reader {
	return io.MultiReader(bytes.NewReader(head(status, h, length)), body)
}

func head(status int, h http.Header, length int64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	_ = h.Write(&b) // a Buffer takes all
	if length >= 0 {
		b.WriteString("Content-Length: " + strconv.FormatInt(length, 10) + "\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// Decode reads the head of what Encode or EncodeStream wrote. The body is
// still to be read; nothing needs to be closed.
func Decode(r io.Reader) (*http.Response, error) {
	resp, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		return nil, fmt.Errorf("decode a stored answer: %w", err)
	}
	resp.Header.Del("Content-Length") // ContentLength has it
	return resp, nil
}

var errNoHead = errors.New("decode a stored answer: its head does not end")

// Body is the body of what Encode wrote, not copied.
func Body(encoded []byte) ([]byte, error) {
	_, body, ok := bytes.Cut(encoded, []byte("\r\n\r\n")) // no value has a line break
	if !ok {
		return nil, errNoHead
	}
	return body, nil
}
