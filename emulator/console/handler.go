package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"time"
)

//go:embed static
var static embed.FS

// policy lets the page load nothing but its own files, and nobody frame it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// Handler serves the page below /console/ and its stream of events at /console/api/events. It trusts its caller to have
// refused foreign Host and Origin headers.
func (j *Journal) Handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	page := http.StripPrefix("/console/", http.FileServerFS(files))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console/api/events", j.stream)
	mux.HandleFunc("GET /console/", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		page.ServeHTTP(w, r)
	})
	return mux
}

const (
	// batchEvery is the least time between two messages of a stream that has caught up.
	batchEvery = 100 * time.Millisecond
	// batchMost bounds the events of one message.
	batchMost = 2000
	// heartbeat is how often a stream without events shows that it lives.
	heartbeat = 10 * time.Second
)

// batch is one message of a stream.
type batch struct {
	// Now is the server's time in milliseconds since 1970.
	Now int64 `json:"now"`
	// Reset tells the page to forget what it knows: events are missing between that and these.
	Reset  bool    `json:"reset,omitempty"`
	Events []Event `json:"events"`
}

// stream sends what the Journal holds after the event that Last-Event-ID or ?after= names, from its oldest event where
// neither names one of this Journal, and then what happens, as server-sent events.
func (j *Journal) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	seq, known := j.position(r)
	for {
		events, whole, more := j.after(seq, batchMost)
		b := batch{Now: time.Now().UnixMilli(), Reset: !known || !whole, Events: events}
		if len(events) > 0 {
			seq = events[len(events)-1].Seq
		}
		known = true
		text, err := json.Marshal(b)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "retry: 1000\nid: %d-%d\ndata: %s\n\n", j.epoch, seq, text); err != nil {
			return
		}
		if out.Flush() != nil || (len(events) < batchMost && !wait(r, more)) {
			return
		}
	}
}

// position reads after which event the caller goes on.
func (j *Journal) position(r *http.Request) (seq uint64, known bool) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("after")
	}
	j.after(0, 0) // there is an epoch
	var epoch int64
	if _, err := fmt.Sscanf(id, "%d-%d", &epoch, &seq); err != nil || epoch != j.epoch {
		return 0, false
	}
	return seq, true
}

// wait returns when there are more events, and some time for others to join them has passed, or when a heartbeat is due; false
// when the caller has gone.
func wait(r *http.Request, more <-chan struct{}) bool {
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	select {
	case <-more:
		beat.Reset(batchEvery)
	case <-beat.C:
		return true
	case <-r.Context().Done():
		return false
	}
	select {
	case <-beat.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
