package firestoretest

import (
	"os"
	"sync"
	"testing"
)

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Main is the TestMain of a package that uses [Shared]: it runs the tests and
// then stops the shared emulator, if one was started.
//
//	func TestMain(m *testing.M) { firestoretest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	os.Exit(code)
}

// Shared returns the emulator of the test binary, started at the first call.
// It is there for [Server.Config] and [Server.Addr]: stopping it, or holding
// it up, would concern other tests. It skips or fails as [Require] does.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	java, jar := Require(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		s := &Server{java: java, jar: jar}
		shared.server, shared.err = s, s.start()
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}
