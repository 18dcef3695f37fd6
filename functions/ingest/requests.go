package ingest

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// requestList is the body of a page of a lane's requests, in ticket order.
type requestList struct {
	Requests []requestState `json:"requests"`
	// NextPageToken is the ticket behind which the next page begins: tickets of a lane only grow, so a list goes on at the same
	// place, whatever ends or arrives meanwhile.
	NextPageToken string `json:"next_page_token,omitempty"`
}

var statuses = []string{statusQueued, statusRunning, statusDone, statusDead, statusCancelled, statusUnknown}

// requests lists a lane: what is open and what has just ended from Redis, the rest of a durable lane from its records. Redis is
// read first: a request leaves its list once its record is durable, so that none is missed between the two.
func (c *call) requests() error {
	size, token, err := c.page()
	if err != nil {
		return err
	}
	status := c.r.URL.Query().Get("status")
	if status != "" && !slices.Contains(statuses, status) {
		return malformedHeader("The parameter status is one of "+strings.Join(statuses, ", ")+", or left out.", nil)
	}
	after, err := position(token)
	if err != nil {
		return err
	}
	listed, err := c.Inspector.List(c.r.Context(), c.lane.Slot, slot.ListRequest{After: after, Size: size, Only: status})
	if err != nil {
		return unavailable(err)
	}
	var ended []record.Record
	var upto int64
	if word := record.Status(status); word == "" || slices.Contains([]record.Status{record.Done, record.Dead, record.Cancelled}, word) {
		if ended, upto, err = c.Records.Ended(c.r.Context(), c.lane, word, size, after); err != nil {
			return unavailable(err)
		}
	}
	return c.json(http.StatusOK, c.merge(listed, ended, upto, status, size))
}

// merge makes one page of both. Each is whole up to its ticket, so the page is up to the lower one.
func (c *call) merge(listed slot.Listed, ended []record.Record, upto int64, status string, size int) requestList {
	byTicket := map[int64]requestState{}
	for _, r := range listed.Requests {
		if word := statusOf(r); word != "" && (status == "" || status == word) {
			byTicket[r.Ticket] = c.stateOf(r.ID, found{r, listed.Seen, word})
		}
	}
	for _, r := range ended {
		byTicket[r.Ticket] = c.recorded(r)
	}
	last := upto
	if last == 0 || listed.Upto != 0 && listed.Upto < last {
		last = listed.Upto
	}
	page := requestList{Requests: []requestState{}}
	for _, r := range slices.SortedFunc(maps.Values(byTicket), func(a, b requestState) int { return cmp.Compare(a.Ticket, b.Ticket) }) {
		if last != 0 && r.Ticket > last {
			break
		}
		if len(page.Requests) == size {
			last = page.Requests[size-1].Ticket
			break
		}
		page.Requests = append(page.Requests, r)
	}
	if last != 0 {
		page.NextPageToken = strconv.FormatInt(last, 10)
	}
	return page
}

var errPosition = errors.New("a page token that is no ticket")

// position is the ticket that a page token of the list of requests says.
func position(token string) (int64, error) {
	if token == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(token, 10, 64)
	if err != nil || after < 1 || after > 1<<53 {
		return 0, malformedToken(errors.Join(errPosition, err))
	}
	return after, nil
}
