package cloudtasks

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
)

// errorWriter turns the transcoder's errors (a bare google.rpc.Status, or
// text) into those of Google's REST APIs: {"error": {"code", "message",
// "status", "details"}} with the HTTP status as the code.
type errorWriter struct {
	http.ResponseWriter
	status int // of an error, else 0
	body   bytes.Buffer
}

// restError is what Google's REST APIs answer.
type restError struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Status  string            `json:"status"`
	Details []json.RawMessage `json:"details,omitempty"`
}

func (w *errorWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *errorWriter) Write(p []byte) (int, error) {
	if w.status != 0 {
		return w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which the transcoder needs.
func (w *errorWriter) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// finish writes the error that was held back.
func (w *errorWriter) finish() {
	if w.status == 0 {
		return
	}
	var rpc struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Details []json.RawMessage `json:"details"`
	}
	if json.Unmarshal(w.body.Bytes(), &rpc) != nil {
		rpc.Code, rpc.Message = int(codeOf(w.status)), strings.TrimSpace(w.body.String())
	}
	if strings.Contains(rpc.Message, unknownField) { // which the transcoder takes for its own fault
		w.status, rpc.Code = http.StatusBadRequest, int(code.Code_INVALID_ARGUMENT)
	}
	writeRESTError(w.ResponseWriter, w.status, restError{Message: rpc.Message, Status: code.Code(rpc.Code).String(), Details: rpc.Details})
}

const unknownField = "unknown field in field path"

func writeRESTError(w http.ResponseWriter, status int, e restError) {
	e.Code = status
	for _, name := range []string{"Content-Length", "Content-Encoding", "Trailer"} {
		w.Header().Del(name)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]restError{"error": e})
}

// codeOf is the code of an error that the transcoder gives without one.
func codeOf(status int) code.Code {
	switch status {
	case http.StatusNotFound:
		return code.Code_NOT_FOUND
	case http.StatusMethodNotAllowed:
		return code.Code_UNIMPLEMENTED
	case http.StatusInternalServerError:
		return code.Code_INTERNAL
	default:
		return code.Code_INVALID_ARGUMENT
	}
}
