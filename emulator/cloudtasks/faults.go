package cloudtasks

import (
	"fmt"
	"io"
	"net/http"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// Faults says what the emulator does wrong on purpose.
type Faults = engine.Faults

// ParseFaults reads faults such as
// "late=0.002:30s-180s,jitter=20ms-200ms,duplicate=0.01,lose-reply=0.01,error=0.01";
// see [engine.ParseFaults].
func ParseFaults(text string) (Faults, error) { return engine.ParseFaults(text) }

// maxFaultText bounds the text of faults that the admin API takes.
const maxFaultText = 64 << 10

// FaultsHandler serves the faults in force as text, in the syntax of
// [ParseFaults]: GET reads them, PUT replaces them, DELETE ends them; all
// answer the faults then in force. PUT refuses a bad text with 400 and changes
// nothing. The server itself has it at /faults; mount it elsewhere behind what
// refuses foreign browsers.
func (s *Server) FaultsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPut:
			f, err := readFaults(http.MaxBytesReader(w, r.Body, maxFaultText))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			s.SetFaults(f)
		case http.MethodDelete:
			s.SetFaults(Faults{})
		default:
			w.Header().Set("Allow", "GET, HEAD, PUT, DELETE")
			http.Error(w, "use GET, PUT or DELETE", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, s.Faults())
	})
}

func readFaults(from io.Reader) (Faults, error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return Faults{}, fmt.Errorf("read the faults: %w", err)
	}
	return ParseFaults(string(text))
}
