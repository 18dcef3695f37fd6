package record

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// MaxPage is the size of the largest page, in records.
const MaxPage = 1000

// Page is a part of a list. Its records are without Response and Payload: Get
// has them.
type Page struct {
	// Records may be fewer than asked for, even none, while Next is set: expired
	// ones are left out.
	Records []Record
	// Next asks for the next page; empty after the last one.
	Next string
}

// list is what a store is asked for: some records of a lane in an order.
type list struct {
	key    string
	status Status // empty: all
	// newest is true for the latest Finished first, false for ticket order.
	newest bool
	size   int
	after  position // zero: from the start
}

// position is where a list goes on. Its JSON is the page token, which is good
// for the same list only.
type position struct {
	Ticket   int64     `json:"t,omitempty"`
	Finished time.Time `json:"f,omitzero"`
	Name     string    `json:"n"` // the document's, for records that are else equal
}

func newList(key string, status Status, newest bool, size int, token string) (list, error) {
	l := list{key: key, status: status, newest: newest, size: size}
	switch {
	case !validKey(key):
		return list{}, invalid("lane key of %d bytes: give 1-%d, in UTF-8", len(key), maxWord)
	case size < 1 || size > MaxPage:
		return list{}, invalid("page size %d, give 1-%d", size, MaxPage)
	case token == "":
		return l, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &l.after)
	}
	if err != nil || len(l.after.Name) != nameLength || newest == l.after.Finished.IsZero() {
		return list{}, invalid("the page token was made by no page of this list; leave it out to begin again")
	}
	return l, nil
}

// at is the position of r in the list.
func (l list) at(r Record) position {
	if l.newest {
		return position{Finished: r.Finished, Name: name(r.Key, r.ID)}
	}
	return position{Ticket: r.Ticket, Name: name(r.Key, r.ID)}
}

func (p position) token() string {
	text, _ := json.Marshal(p) // no year is past 9999
	return base64.RawURLEncoding.EncodeToString(text)
}

// After is the token of a list in ticket order whose first record is the next
// one behind a ticket.
func After(ticket int64) string {
	return position{Ticket: ticket, Name: strings.Repeat("z", nameLength)}.token()
}

// bare is r without what lists leave out.
func (r Record) bare() Record {
	r.Response, r.Payload = nil, nil
	return r
}
