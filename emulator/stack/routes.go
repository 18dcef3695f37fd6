package stack

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/seriatim/seriatim/functions/executor"
	"github.com/seriatim/seriatim/functions/ingest"
	"github.com/seriatim/seriatim/shared/bundle"
	"github.com/seriatim/seriatim/shared/logging"
)

func (s *Stack) routes() http.Handler {
	mux := http.NewServeMux()
	back := s.instances(func(p *bundle.Parts) http.Handler { return s.Journal.Executor(executor.Wire(p, s.counts.observe)) })
	mux.Handle("/executor", back)
	mux.Handle("/executor/sweep", http.StripPrefix("/executor", back))
	mux.Handle("/sample", s.Sample)
	mux.HandleFunc("GET /console/api/stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Stats())
	})
	mux.HandleFunc("GET /console/api/targets", s.targets)
	mux.Handle("/console/api/faults", s.Tasks.FaultsHandler())
	mux.Handle("/console/", s.Journal.Handler())
	front := s.instances(func(p *bundle.Parts) http.Handler { return s.Journal.Ingest(ingest.Wire(p)) })
	return local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Not through the mux: it cleans paths, and a key may hold dots and slashes.
		if len(r.URL.Path) >= 4 && r.URL.Path[:4] == "/v1/" {
			front.ServeHTTP(w, r)
			s.counts.acknowledged(w.Header())
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// instances spreads requests over the handlers of all instances in turn.
func (s *Stack) instances(assemble func(*bundle.Parts) http.Handler) http.Handler {
	handlers := make([]http.Handler, len(s.Parts))
	for i, p := range s.Parts {
		handlers[i] = assemble(p)
	}
	var next atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := handlers[next.Add(1)%uint64(len(handlers))]
		h.ServeHTTP(w, r.WithContext(logging.WithContext(r.Context(), s.logger())))
	})
}

// local refuses what a page of another site could make a browser send: the emulator has no other protection.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, err := url.Parse(r.Header.Get("Origin"))
		if err != nil || !loopback(r.Host) || (origin.Host != "" && !loopback(origin.Host)) || r.Header.Get("Origin") == "null" {
			http.Error(w, "the emulator answers to localhost and 127.0.0.1 only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
