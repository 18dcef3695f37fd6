package slot

import (
	"context"
	"strconv"

	"github.com/seriatim/seriatim/shared/journal"
)

// Journal reads the lane's last transitions, oldest first: the last 100 to 120, for an hour after the last. An unknown lane has none.
// It changes nothing. See Reserve for errors.
func (s *Store) Journal(ctx context.Context, lane Lane) ([]journal.Entry, error) {
	r, err := s.run(ctx, journalScript, lane, nil)
	if err != nil {
		return nil, err
	}
	list := []journal.Entry{}
	for text, more := r.fields["1"]; more; text, more = r.fields[strconv.Itoa(len(list)+1)] {
		e, err := journal.Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
