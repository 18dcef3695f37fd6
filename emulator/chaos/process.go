package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// startTimeout is how long a process may take until it listens: a JVM on a busy machine takes longest.
const startTimeout = time.Minute

// errPort says that a process ended before it listened, as one does whose port is taken.
var errPort = errors.New("the process ended before it listened")

// process is one that the driver has started. It ends with the driver, however that ends.
type process struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{} // closed when it is gone
}

// launch starts a program whose output is appended to a file of dir, and waits until it listens on port.
func launch(ctx context.Context, dir, name string, port int, env []string, program string, args ...string) (*process, error) {
	output, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer output.Close()
	p := &process{name: name, cmd: exec.Command(program, args...), exited: make(chan struct{})} //nolint:noctx // ended by kill
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = endWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // killed, as a rule
	}()
	if err := p.listens(ctx, port); err != nil {
		p.kill()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// listens polls until somebody accepts connections on port.
func (p *process) listens(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var d net.Dialer
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		conn, err := d.DialContext(ctx, "tcp", local(port))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return errPort
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kill ends it at once (SIGKILL), also while it is stopped, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended already
	<-p.exited
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// onFreePort calls start with ports until one was free. They lie below the range that Linux gives to outgoing connections (32768
// and up): nobody takes the port of a killed process before it is back.
func onFreePort(start func(port int) error) (err error) {
	for range 20 {
		if err = start(20000 + rand.IntN(12000)); !errors.Is(err, errPort) {
			break
		}
	}
	return err
}

// freePort returns one on which nobody listens.
func freePort() (port int, err error) {
	err = onFreePort(func(p int) error {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", local(p))
		if err != nil {
			return errPort
		}
		port = p
		return l.Close()
	})
	return port, err
}
