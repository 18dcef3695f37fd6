package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn"
)

// startTimeout is generous, as a loaded CI machine runs many tests at once; a
// server is usually there within 20 ms.
const startTimeout = 30 * time.Second

// Server is a real redis-server that keeps nothing on disk. Its methods fail
// the test when they cannot do what they say, so call them from the test's
// own goroutine; they are not safe for concurrent use.
type Server struct {
	tb   testing.TB
	bin  string
	port int
	args []string
	ca   string // PEM; empty without TLS

	cmd    *exec.Cmd // the last process
	exited chan struct{}
}

// Start starts a redis-server and stops it when the test ends. args are
// further arguments of redis-server, such as "--maxmemory", "2mb"; they win
// over ours. It skips or fails as [Require] does.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(&Server{tb: tb, bin: Require(tb), args: args})
}

// StartTLS is Start for a server that speaks TLS only, with a certificate
// for 127.0.0.1 signed by [Server.CA]. Clients need no certificate.
func StartTLS(tb testing.TB, args ...string) *Server {
	tb.Helper()
	bin := Require(tb)
	files := newCertificate(tb)
	args = append([]string{
		"--tls-cert-file", files.cert, "--tls-key-file", files.key, "--tls-auth-clients", "no",
	}, args...)
	return start(&Server{tb: tb, bin: bin, args: args, ca: files.ca})
}

// start tries ports until one is free. They lie below the range that Linux
// gives to outgoing connections (32768 and up): nobody takes the port of a
// killed server before Restart.
func start(s *Server) *Server {
	s.tb.Helper()
	s.tb.Cleanup(s.Kill)
	var err error
	for range 20 {
		s.port = 20000 + rand.IntN(12000)
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		s.tb.Fatal(err)
	}
	return s
}

// Require returns the path of redis-server. Without one it skips the test,
// or fails it when SERIATIM_REQUIRE_REAL=1.
func Require(tb testing.TB) string {
	tb.Helper()
	bin, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
	case os.Getenv("SERIATIM_REQUIRE_REAL") == "1":
		tb.Fatalf("SERIATIM_REQUIRE_REAL=1, but redis-server cannot be run: %v", err)
	default:
		tb.Skipf("skipped on a real Redis: %v; install redis-server", err)
	}
	return bin
}

// Addr is host:port, the same after Restart.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// URL is redis://host:port, or rediss:// with TLS.
func (s *Server) URL() string {
	if s.ca != "" {
		return "rediss://" + s.Addr()
	}
	return "redis://" + s.Addr()
}

// CA is the PEM text that a client of a TLS server must trust; empty without
// TLS.
func (s *Server) CA() string { return s.ca }

// Client returns a new client of the server, closed when the test ends. It
// knows no password.
func (s *Server) Client() *redis.Client {
	s.tb.Helper()
	return client(s.tb, redisconn.Config{URL: s.URL(), CA: s.ca})
}

// Kill ends the server at once (SIGKILL), also while it is paused, and waits
// until it is gone. It does nothing when the server does not run.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // fails only when it has ended already
	<-s.exited
}

// Restart kills the server, if it runs, and starts it on the same port,
// empty: what Redis without persistence does.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.tb.Fatal(err)
	}
}

// Pause freezes the server (SIGSTOP): connections stay open and nothing is
// answered until Resume.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause; the server then answers what it was sent meanwhile.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("send %v to redis-server: %v", sig, err)
	}
}

// arguments puts the caller's last, as the last one wins.
func (s *Server) arguments() []string {
	plain, overTLS := strconv.Itoa(s.port), "0"
	if s.ca != "" {
		plain, overTLS = overTLS, plain
	}
	return append([]string{
		"--bind", "127.0.0.1", "--port", plain, "--tls-port", overTLS,
		"--save", "", "--appendonly", "no",
	}, s.args...)
}
