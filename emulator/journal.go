package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/seriatim/seriatim/shared/journal"
)

// showJournal prints the answer of GET /v1/lanes/{key}/journal one transition a line, and replays it here. The error is that the
// entries break a promise.
func showJournal(in io.Reader, out io.Writer) error {
	var answer struct {
		Key     string
		Entries []journal.Entry
	}
	if err := json.NewDecoder(in).Decode(&answer); err != nil {
		return fmt.Errorf("read a journal from the standard input: %w", err)
	}
	for i, e := range answer.Entries {
		fmt.Fprintf(out, "%4d  %s\n", i, e)
	}
	if broken := journal.Verify(answer.Entries); broken != nil {
		return fmt.Errorf("lane %s: %w", answer.Key, broken)
	}
	fmt.Fprintf(out, "lane %s: the last %d transitions keep every promise\n", answer.Key, len(answer.Entries))
	return nil
}
