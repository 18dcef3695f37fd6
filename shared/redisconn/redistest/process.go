package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

var errPortTaken = errors.New("port is taken")

// run starts one process and waits until it says that it listens. The log
// line, unlike a PING, cannot come from another server on the same port, and
// needs neither password nor TLS.
func (s *Server) run() error {
	out := &output{ready: make(chan struct{})}
	cmd := exec.Command(s.bin, s.arguments()...) //nolint:noctx // it outlives the call, and ends with the test
	cmd.Dir = s.tb.TempDir()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // killed, as a rule
	}()
	s.cmd, s.exited = cmd, exited

	select {
	case <-out.ready:
		return nil
	case <-exited:
		if bytes.Contains(out.bytes(), []byte("Address already in use")) {
			return fmt.Errorf("redis-server on %s: %w", s.Addr(), errPortTaken)
		}
		return fmt.Errorf("redis-server %q ended at start:\n%s", cmd.Args[1:], out.bytes())
	case <-time.After(startTimeout):
		return fmt.Errorf("redis-server does not listen after %v:\n%s", startTimeout, out.bytes())
	}
}

// output keeps what redis-server prints and closes ready once it listens.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	listen bool
	ready  chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if !o.listen && bytes.Contains(o.text.Bytes(), []byte("Ready to accept connections")) {
		o.listen = true
		close(o.ready)
	}
	return len(p), nil
}

func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.text.Bytes())
}
