package firestoretest

import (
	"bytes"
	"sync"
)

// output keeps what a program prints and closes ready once sign is in it.
type output struct {
	sign  []byte
	ready chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	seen bool
}

func newOutput(sign []byte) *output { return &output{sign: sign, ready: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen {
		return len(p), nil // an emulator prints a line for every refused call
	}
	o.text.Write(p)
	if bytes.Contains(o.text.Bytes(), o.sign) {
		o.seen = true
		close(o.ready)
	}
	return len(p), nil
}

func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.text.Bytes())
}
