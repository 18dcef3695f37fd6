package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// simulation is what the recorded run of the simulation came to.
type simulation struct {
	Date       string `json:"date"`
	Seeds      tally  `json:"seeds"`
	Requests   tally  `json:"requests"` // acknowledged
	Steps      tally  `json:"steps"`
	Faults     tally  `json:"faults"`
	Losses     tally  `json:"losses"`
	Rollbacks  tally  `json:"rollbacks"`
	Violations tally  `json:"violations"`
	Exceptions tally  `json:"exceptions"`
	// mutations are those of the list, of which a test notices some.
	mutations, noticed int
}

// chaos is what the recorded run on real processes came to: a chaos.Report.
type chaos struct {
	Date     string `json:"date"`
	For      string `json:"for"`
	Requests struct {
		Acknowledged int `json:"acknowledged"`
		Done         int `json:"done"`
	} `json:"requests"`
	Calls    int   `json:"target_calls"`
	Kills    int   `json:"kills"`
	Faults   tally `json:"faults"`
	Losses   tally `json:"losses"`
	Recovery struct {
		MedianFirst float64 `json:"median_first_start_s"`
		WorstFirst  float64 `json:"worst_first_start_s"`
		Quarantine  float64 `json:"quarantine_s"`
	} `json:"recovery"`
	Reruns     tally `json:"reruns"`
	Exceptions tally `json:"exceptions"`
	Violations tally `json:"violations"`
}

// tally is a number, or the numbers of several kinds, or a list that is counted.
type tally struct {
	total  int
	byKind map[string]int
}

var errTally = errors.New("no number, no object of numbers and no list")

func (t *tally) UnmarshalJSON(text []byte) error {
	*t = tally{}
	var list []json.RawMessage
	switch {
	case json.Unmarshal(text, &t.total) == nil:
	case json.Unmarshal(text, &list) == nil:
		t.total = len(list)
	case json.Unmarshal(text, &t.byKind) == nil:
		for _, n := range t.byKind {
			t.total += n
		}
	default:
		return fmt.Errorf("%.40s: %w", text, errTally)
	}
	return nil
}

// load reads a file into run, which stays as it is where there is none.
func load(name string, run any) error {
	text, err := read(name)
	if err == nil && text != nil {
		err = json.Unmarshal(text, run)
	}
	if err != nil {
		return fmt.Errorf("read the run %s: %w", name, err)
	}
	return nil
}

// read returns nil where there is no file.
func read(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// count counts the lines of the list of mutations. What nothing notices begins with "-".
func count(list []byte) (mutations, noticed int) {
	for line := range bytes.Lines(list) {
		mutations++
		if line[0] != '-' {
			noticed++
		}
	}
	return mutations, noticed
}
