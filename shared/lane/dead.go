package lane

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// deadPage is how many dead letters are read at once to walk them all.
const deadPage = 500

// ErrPageToken says that a page token was made by no page of that list.
var ErrPageToken = errors.New("the page token was made by no page of this list; leave it out to begin again")

// DeadLetter returns the record of a dead request with its payload; found is false where there is none: it is not dead, or was
// given up without anybody who had its payload. Errors are those of the store.
func (s Records) DeadLetter(ctx context.Context, l Lane, requestID string) (r record.Record, found bool, err error) {
	if l.Policy.Durable {
		r, found, err = s.Store.Get(ctx, l.Slot.Key, requestID)
	} else {
		r, found, err = s.local(ctx, l, requestID)
	}
	found = found && r.Status == record.Dead && r.Payload != nil
	return r, found, err
}

func (s Records) local(ctx context.Context, l Lane, requestID string) (record.Record, bool, error) {
	encoded, found, err := s.Dead.Get(ctx, l.Slot, requestID)
	if err != nil || !found {
		return record.Record{}, false, err
	}
	r, err := record.Decode(encoded)
	return r, err == nil, err
}

// EachDeadLetter calls do with every dead letter of a lane that has a payload, in ticket order, until do fails. What dies
// meanwhile may be left out; do may remove what it was given. Errors are do's, and those of the store.
func (s Records) EachDeadLetter(ctx context.Context, l Lane, do func(record.Record) error) error {
	letters, err := s.allDead(ctx, l)
	if err != nil {
		return err
	}
	slices.SortFunc(letters, func(a, b slot.DeadLetter) int { return cmp.Compare(a.Ticket, b.Ticket) })
	for _, d := range letters {
		r, found, err := s.DeadLetter(ctx, l, d.ID)
		if err == nil && found && r.Ticket == d.Ticket {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allDead names all dead letters.
func (s Records) allDead(ctx context.Context, l Lane) (letters []slot.DeadLetter, err error) {
	for token := ""; ; {
		page, err := s.DeadLetters(ctx, l, deadPage, token)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			letters = append(letters, slot.DeadLetter{ID: r.ID, Ticket: r.Ticket})
		}
		if token = page.Next; token == "" {
			return letters, nil
		}
	}
}

// RemoveDeadLetter forgets a dead record, so that its request can run again, unless there is one of a higher ticket. Errors are
// those of the store.
func (s Records) RemoveDeadLetter(ctx context.Context, l Lane, r record.Record) error {
	if l.Policy.Durable {
		return s.Store.Delete(ctx, l.Slot.Key, r.ID, r.Ticket)
	}
	return s.Dead.Remove(ctx, l.Slot, slot.DeadLetter{ID: r.ID, Ticket: r.Ticket})
}

// DeadLetters returns a page of at most size dead records of a lane, 1 to record.MaxPage, the last finished first, without
// responses and payloads. token is empty for the first page, else the Next of the one before. Errors are ErrPageToken,
// record.ErrInvalid, and those of the store.
func (s Records) DeadLetters(ctx context.Context, l Lane, size int, token string) (record.Page, error) {
	if l.Policy.Durable {
		return s.Store.DeadLetters(ctx, l.Slot.Key, size, token)
	}
	behind, err := decodeDead(token)
	if err != nil {
		return record.Page{}, err
	}
	letters, err := s.Dead.List(ctx, l.Slot, size, behind)
	if err != nil {
		return record.Page{}, err
	}
	var page record.Page
	for _, d := range letters {
		r, found, err := s.local(ctx, l, d.ID)
		if err != nil {
			return record.Page{}, err
		}
		if found && r.Ticket == d.Ticket {
			r.Response, r.Payload = nil, nil
			page.Records = append(page.Records, r)
		}
	}
	if len(letters) == size {
		text, _ := json.Marshal(letters[size-1]) // strings, numbers and a time can always be encoded
		page.Next = base64.RawURLEncoding.EncodeToString(text)
	}
	return page, nil
}

func decodeDead(token string) (d slot.DeadLetter, err error) {
	if token == "" {
		return d, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || d.ID == "" {
		return slot.DeadLetter{}, ErrPageToken
	}
	return d, nil
}
