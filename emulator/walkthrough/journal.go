package walkthrough

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/seriatim/seriatim/shared/journal"
)

// readJournal reads the lane's last transitions and replays them, whatever the lane says of them itself.
func (r *runner) readJournal(ctx context.Context, rep *Report) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.lane()+"/journal", nil)
	if err != nil {
		return err
	}
	status, _, body, err := r.do(req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	var got struct {
		Verified bool
		Entries  []journal.Entry
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &got)
	}
	if err != nil {
		return fmt.Errorf("read journal of lane %s: %w", r.Key, err)
	}
	rep.Transitions, rep.Violation = len(got.Entries), journal.Verify(got.Entries)
	if len(got.Entries) == 0 || got.Verified != (rep.Violation == nil) {
		return fmt.Errorf("the journal of lane %s has %d entries, says verified %t, and replayed it is %t",
			r.Key, len(got.Entries), got.Verified, rep.Violation == nil)
	}
	return nil
}
