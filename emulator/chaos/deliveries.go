package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// delivery is one task of a request that came to an executor.
type delivery struct {
	start, end time.Time // end is zero while it is not answered
	status     int
}

// deliveries are all, by the id of the request. They are safe for concurrent use.
type deliveries struct {
	mu   sync.Mutex
	byID map[string][]*delivery
}

// see notes a delivery to an executor, whose body is an envelope.
func (d *deliveries) see(r *http.Request) (answered func(status int)) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var envelope struct{ Kind, ID string }
	if err != nil || json.Unmarshal(body, &envelope) != nil || envelope.Kind != "request" {
		return func(int) {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		d.byID = map[string][]*delivery{}
	}
	one := &delivery{start: time.Now()}
	d.byID[envelope.ID] = append(d.byID[envelope.ID], one)
	return func(status int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		one.end, one.status = time.Now(), status
	}
}

// lookUp is how long an executor may ask Firestore for a request that Redis does not know, before it takes it up.
const lookUp = 4 * time.Second

// cameBack says whether the request was taken up between two instants: its task was answered 200 before the second, or is being worked
// on for longer than it takes to look it up.
func (d *deliveries) cameBack(id string, from, to time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.byID[id], func(one *delivery) bool {
		if one.end.IsZero() || one.end.After(to) {
			return one.start.Before(to.Add(-lookUp))
		}
		return one.end.After(from) && one.status == http.StatusOK
	})
}

// tell describes the deliveries of a request for a person.
func (d *deliveries) tell(log *journal, id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var parts []string
	for _, one := range d.byID[id] {
		parts = append(parts, fmt.Sprintf("%s-%s %d", strings.TrimSpace(log.at(one.start)), strings.TrimSpace(log.at(one.end)), one.status))
	}
	return strings.Join(parts, ", ")
}
