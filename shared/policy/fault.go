package policy

import "strings"

// Fault is one thing that is wrong with a document. It never quotes a secret,
// a URL or a header's value, and of what a variable holds only a pattern or a
// name.
type Fault struct {
	// Path is the place, such as lanes[2].spacing; empty when it is the
	// document as a whole.
	Path string
	// Message says what is wrong there and what is wanted.
	Message string
}

// Error is path and message.
func (f Fault) Error() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Faults is everything that is wrong with a document, at least one fault.
// errors.As finds each [Fault].
type Faults []Fault

// Error has one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}
