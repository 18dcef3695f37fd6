package firestoretest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

// startTimeout is generous, as a loaded CI machine runs many tests at once; the
// JVM usually needs two to six seconds.
const startTimeout = 2 * time.Minute

var errPortTaken = errors.New("port is taken")

// Server is an emulator. Start it, stop it and hold it up from one goroutine;
// its methods fail the test when they cannot do what they say.
type Server struct {
	tb        testing.TB
	java, jar string
	port      int

	cmd    *exec.Cmd // the last process
	exited chan struct{}
}

// Start starts an emulator and stops it when the test ends. It skips or fails
// as [Require] does.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb}
	s.java, s.jar = Require(tb)
	tb.Cleanup(s.Stop)
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Addr is host:port, the same after Restart: a FIRESTORE_EMULATOR_HOST.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// projects counts the projects given out, over all servers.
var projects atomic.Int64

// Config returns the default database of a project that no other call gets:
// an emulator keeps projects apart, so it is empty.
func (s *Server) Config() firestoreconn.Config {
	return firestoreconn.Config{
		Project:  fmt.Sprintf("seriatim-test-%d", projects.Add(1)),
		Database: "(default)",
		Emulator: s.Addr(),
	}
}

// Stop ends the emulator at once (SIGKILL), also while it is paused, and waits
// until it is gone. It does nothing when the emulator does not run.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // fails only when it has ended already
	<-s.exited
}

// Restart stops the emulator, if it runs, and starts it on the same port,
// empty.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	if err := s.run(); err != nil {
		s.tb.Fatal(err)
	}
}

// Pause freezes the emulator (SIGSTOP): connections stay open and nothing is
// answered until Resume.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause; the emulator then answers what it was sent meanwhile.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("send %v to the Firestore emulator: %v", sig, err)
	}
}

// start tries ports until one is free. They lie below the range that Linux
// gives to outgoing connections (32768 and up): nobody takes the port of a
// stopped emulator before Restart.
func (s *Server) start() error {
	var err error
	for range 10 {
		s.port = 20000 + rand.IntN(12000)
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	return err
}

// run starts one process and waits until it says that it listens.
func (s *Server) run() error {
	out := newOutput([]byte("Dev App Server is now running"))
	cmd := exec.Command(s.java, Arguments(s.jar, s.port, "512m")...) //nolint:noctx // it outlives the call, and ends with the test
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Firestore emulator: %w", err)
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
			return fmt.Errorf("start the Firestore emulator on %s: %w", s.Addr(), errPortTaken)
		}
		return fmt.Errorf("the Firestore emulator ended at start:\n%s", out.bytes())
	case <-time.After(startTimeout):
		return fmt.Errorf("the Firestore emulator does not listen after %v:\n%s", startTimeout, out.bytes())
	}
}
