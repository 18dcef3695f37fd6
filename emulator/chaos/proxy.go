package chaos

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
)

// proxy is an address that stays while what is behind it changes, as that of a managed Redis does. Its methods are safe for
// concurrent use.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex
	to    string            // "" refuses
	conns map[net.Conn]bool // both sides of each
	gate  chan struct{}     // closed while replies pass
	lose  float64           // share of replies that are lost with their connection
}

func newProxy(ctx context.Context, to string) (*proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, to: to, conns: map[net.Conn]bool{}, gate: make(chan struct{})}
	close(p.gate)
	go p.accept()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// point cuts all connections, and sends new ones to another address; "" refuses them.
func (p *proxy) point(to string) {
	p.mu.Lock()
	p.to = to
	p.mu.Unlock()
	p.cut()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// stall holds what the server sends until the returned function is called; connections stay.
func (p *proxy) stall() (release func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	p.gate = gate
	p.mu.Unlock()
	return sync.OnceFunc(func() { close(gate) })
}

// loseReplies has the server act on what it is sent and its answer lost, in a share of all cases.
func (p *proxy) loseReplies(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = share
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.point("")
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.pass(conn)
	}
}

func (p *proxy) pass(client net.Conn) {
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	var server net.Conn
	var err error
	if to != "" {
		server, err = (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
	}
	if to == "" || err != nil {
		_ = client.Close()
		return
	}
	if !p.keep(to, client, server) {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.copy(server, client, nil)
	}()
	p.copy(client, server, ended)
	<-ended
	p.forget(client, server)
}

// keep says whether the connection may go on: not when the proxy was pointed elsewhere while it was made.
func (p *proxy) keep(to string, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.to == to {
			p.conns[c] = true
		} else {
			_ = c.Close()
		}
	}
	return p.to == to
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// copy ends both sides when one has ended. Replies, whose ended is not nil, may be held or lost.
func (p *proxy) copy(to, from net.Conn, ended <-chan struct{}) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || ended != nil && !p.passes(ended) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// passes waits while replies are held, and says whether this one gets through.
func (p *proxy) passes(ended <-chan struct{}) bool {
	p.mu.Lock()
	gate, lose := p.gate, p.lose
	p.mu.Unlock()
	select {
	case <-gate:
	case <-ended:
		return false
	}
	return lose == 0 || rand.Float64() >= lose
}
