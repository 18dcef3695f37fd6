// Package shutdown lets a function end well: in the cloud its main is generated and knows no SIGTERM, so the function packages
// install a hook of their own. After the signal a function takes no new work, ends what runs, and exits.
package shutdown

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Grace is how long Cloud Run waits between SIGTERM and SIGKILL, less a margin for the exit itself.
const Grace = 9500 * time.Millisecond

// Drain counts the work under way and refuses more once it is closed. The zero value is ready; it is safe for concurrent use.
type Drain struct {
	mu     sync.Mutex
	active int
	closed chan struct{}
	empty  chan struct{}
	once   sync.Once
}

func (d *Drain) init() {
	d.once.Do(func() { d.closed, d.empty = make(chan struct{}), make(chan struct{}) })
}

// Begin counts one piece of work in; done counts it out. ok is false once Close has been called: the work is refused.
func (d *Drain) Begin() (done func(), ok bool) {
	d.init()
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closed:
		return nil, false
	default:
	}
	d.active++
	return sync.OnceFunc(d.end), true
}

func (d *Drain) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	select {
	case <-d.closed:
		if d.active == 0 {
			close(d.empty)
		}
	default:
	}
}

// Closed is closed when no new work is taken: whoever waits stops waiting.
func (d *Drain) Closed() <-chan struct{} {
	d.init()
	return d.closed
}

// Close refuses new work and waits until all work has ended, or ctx is done; then its error is returned. It is called once.
func (d *Drain) Close(ctx context.Context) error {
	d.init()
	d.mu.Lock()
	close(d.closed)
	if d.active == 0 {
		close(d.empty)
	}
	d.mu.Unlock()
	select {
	case <-d.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OnSIGTERM closes d at the first SIGTERM and then calls exit: with 0 when all work had ended within Grace, else with 1.
func OnSIGTERM(d *Drain, exit func(code int)) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		ctx, cancel := context.WithTimeout(context.Background(), Grace)
		defer cancel()
		if d.Close(ctx) != nil {
			exit(1)
			return
		}
		exit(0)
	}()
}
