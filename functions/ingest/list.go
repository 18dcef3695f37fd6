package ingest

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// pageSize is that of a list where the client asks for none.
const pageSize = 50

// deadLetterList is the body of a page of dead letters.
type deadLetterList struct {
	DeadLetters   []deadLetter `json:"dead_letters"`
	NextPageToken string       `json:"next_page_token,omitempty"`
}

// deadLetter is a request that was given up, or on which its lane stands. Its response is in its own state.
type deadLetter struct {
	requestState
	Parked bool `json:"parked,omitempty"`
}

// page reads which page of a list the client asks for.
func (c *call) page() (size int, token string, err error) {
	query := c.r.URL.Query()
	size = pageSize
	if text := query.Get("page_size"); text != "" {
		size, err = strconv.Atoi(text)
		if err != nil || size < 1 || size > record.MaxPage {
			return 0, "", malformedHeader("The parameter page_size is a number from 1 to "+strconv.Itoa(record.MaxPage)+".", err)
		}
	}
	return size, query.Get("page_token"), nil
}

func malformedToken(cause error) error {
	return malformedHeader("The parameter page_token was made by no page of this list. Leave it out to begin again.", cause)
}

// deadLetters lists what was given up, the last first; before all else the parked head, on the first page.
func (c *call) deadLetters() error {
	size, token, err := c.page()
	if err != nil {
		return err
	}
	list := deadLetterList{DeadLetters: []deadLetter{}}
	if token == "" {
		parked, err := c.parked()
		if err != nil {
			return err
		}
		list.DeadLetters = append(list.DeadLetters, parked...)
	}
	page, err := c.Records.DeadLetters(c.r.Context(), c.lane, size, token)
	switch {
	case errors.Is(err, record.ErrInvalid), errors.Is(err, lane.ErrPageToken):
		return malformedToken(err)
	case err != nil:
		return unavailable(err)
	}
	for _, r := range page.Records {
		list.DeadLetters = append(list.DeadLetters, deadLetter{requestState: c.recorded(r)})
	}
	list.NextPageToken = page.Next
	return c.json(http.StatusOK, list)
}

// parked is the head where the lane stands on it since it was given up.
func (c *call) parked() ([]deadLetter, error) {
	s, _, err := c.Inspector.Inspect(c.r.Context(), c.lane.Slot, "")
	if err != nil {
		return nil, unavailable(err)
	}
	if s.Stands != slot.StandsParked {
		return nil, nil
	}
	f, err := c.find(s.Next.Request)
	switch {
	case errors.Is(err, problem.UnknownRequest):
		return nil, nil // settled meanwhile
	case err != nil:
		return nil, err
	case !f.Parked:
		return nil, nil
	}
	return []deadLetter{{c.stateOf(s.Next.Request, f), true}}, nil
}

// recorded is the state of a durable record.
func (c *call) recorded(r record.Record) requestState {
	state := requestState{
		ID: r.ID, Key: r.Key, Ticket: r.Ticket, Status: string(r.Status), Attempts: r.Attempts, Submitted: formatTime(r.Submitted),
		Started: formatTime(r.Started), Finished: formatTime(r.Finished), Target: r.Target,
	}
	if r.Reason != "" && r.Status != record.Done {
		state.Error = &errorState{Reason: r.Reason, Detail: r.Detail}
	}
	return state
}
