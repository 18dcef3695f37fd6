package ingest

import (
	"net/http"

	"github.com/seriatim/seriatim/shared/journal"
)

// journalState is the body of a lane's journal.
type journalState struct {
	Key string `json:"key"`
	// Verified says that the entries keep every promise of the lane; Violation is the first that does not.
	Verified  bool               `json:"verified"`
	Violation *journal.Violation `json:"violation,omitempty"`
	// Entries are the last transitions, oldest first.
	Entries []journal.Entry `json:"entries"`
}

// journal answers the lane's last transitions and whether they keep its promises; an unknown lane has none.
func (c *call) journal() error {
	entries, err := c.Inspector.Journal(c.r.Context(), c.lane.Slot)
	if err != nil {
		return unavailable(err)
	}
	broken := journal.Verify(entries)
	return c.json(http.StatusOK, journalState{Key: c.lane.Slot.Key, Verified: broken == nil, Violation: broken, Entries: entries})
}
