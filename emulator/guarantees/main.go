// Guarantees writes the figures of the last recorded runs into README.md, between its two comments:
//
//	go generate ./emulator/guarantees
//
// The runs are those of the simulation (emulator/simulation/results/simulation.json) and of real processes
// (emulator/chaos/results/chaos.json); the mutations are those of emulator/simulation/testdata/mutations.txt. A file that is not
// there is said to be none. A test fails where README.md says other than the files.
package main

//go:generate go run . ../..

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Where the runs and the text are, below the root of the module.
const (
	simulationFile = "emulator/simulation/results/simulation.json"
	chaosFile      = "emulator/chaos/results/chaos.json"
	mutationsFile  = "emulator/simulation/testdata/mutations.txt"
	readmeFile     = "README.md"
)

// The figures are between these two lines.
const (
	begin = "<!-- figures: written by go generate ./emulator/guarantees -->\n"
	end   = "<!-- figures: end -->\n"
)

var errComments = errors.New("the two comments are not there, in order, once each")

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := generate(root); err != nil {
		fmt.Fprintln(os.Stderr, "guarantees:", err)
		os.Exit(1)
	}
}

func generate(root string) error {
	text, err := os.ReadFile(filepath.Join(root, readmeFile))
	if err != nil {
		return err
	}
	written, err := rewrite(root, text)
	if err != nil || bytes.Equal(text, written) {
		return err
	}
	return os.WriteFile(filepath.Join(root, readmeFile), written, 0o644) //nolint:gosec // a text for all to read
}

// rewrite returns text with the figures that the files below root give.
func rewrite(root string, text []byte) ([]byte, error) {
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended || bytes.Contains(after, []byte(begin)) || bytes.Contains(after, []byte(end)) {
		return nil, fmt.Errorf("%s: %w", readmeFile, errComments)
	}
	var s simulation
	var c chaos
	list, err := read(filepath.Join(root, mutationsFile))
	if err := errors.Join(err, load(filepath.Join(root, simulationFile), &s), load(filepath.Join(root, chaosFile), &c)); err != nil {
		return nil, err
	}
	s.mutations, s.noticed = count(list)
	return bytes.Join([][]byte{before, []byte(begin), []byte(figures(s, c)), []byte(end), after}, nil), nil
}
