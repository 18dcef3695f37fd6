// Package sample is a target to try Seriatim with: it records what it gets, works for as long as ?delay= says, and answers with
// ?status=. GET lists the records, DELETE clears them.
package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// maxDelay bounds ?delay=.
const maxDelay = 30 * time.Minute

// maxRecords bounds the records kept; the oldest go first.
const maxRecords = 100000

// Record is one call of the target.
type Record struct {
	// Key is decoded; ID is the request's.
	Key string `json:"key"`
	ID  string `json:"id"`
	// Ticket, Fence and Attempt are those of the call's headers.
	Ticket  int64 `json:"ticket"`
	Fence   int64 `json:"fence"`
	Attempt int64 `json:"attempt"`
	// Started and Finished are the target's own time.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// SHA256 is that of the body, in hex.
	SHA256 string `json:"sha256"`
}

// Target is the sample target. The zero value is ready; it is safe for concurrent use.
type Target struct {
	mu      sync.Mutex
	records []Record
}

// ServeHTTP answers POST (work), GET (list, ?key= narrows it) and DELETE (clear).
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		t.work(w, r)
	case http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]Record{"calls": t.List(r.URL.Query().Get("key"))})
	case http.MethodDelete:
		t.Clear()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "the sample target takes POST, GET and DELETE", http.StatusMethodNotAllowed)
	}
}

func (t *Target) work(w http.ResponseWriter, r *http.Request) {
	record := Record{Started: time.Now(), ID: r.Header.Get("Seriatim-Request-Id")}
	delay, status, err := ask(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body broke off", http.StatusBadRequest)
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	sum := sha256.Sum256(body)
	record.SHA256, record.Finished = hex.EncodeToString(sum[:]), time.Now()
	record.Key, _ = url.PathUnescape(r.Header.Get("Seriatim-Key"))
	for header, field := range map[string]*int64{
		"Seriatim-Ticket": &record.Ticket, "Seriatim-Fence": &record.Fence, "Seriatim-Attempt": &record.Attempt,
	} {
		*field, _ = strconv.ParseInt(r.Header.Get(header), 10, 64)
	}
	t.add(record)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(record)
}

func ask(q url.Values) (delay time.Duration, status int, err error) {
	status = http.StatusOK
	if text := q.Get("delay"); text != "" {
		if delay, err = time.ParseDuration(text); err != nil || delay < 0 || delay > maxDelay {
			return 0, 0, fmt.Errorf("delay: want a duration up to %s, such as 250ms", maxDelay)
		}
	}
	if text := q.Get("status"); text != "" {
		if status, err = strconv.Atoi(text); err != nil || status < 200 || status > 599 {
			return 0, 0, errors.New("status: want a number from 200 to 599")
		}
	}
	return delay, status, nil
}

func (t *Target) add(r Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.records) >= maxRecords {
		t.records = t.records[1:]
	}
	t.records = append(t.records, r)
}

// List returns the records in the order in which the calls ended; those of key only, unless it is empty.
func (t *Target) List(key string) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Record, 0, len(t.records))
	for _, r := range t.records {
		if key == "" || r.Key == key {
			list = append(list, r)
		}
	}
	return list
}

// Clear forgets all records.
func (t *Target) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = nil
}
