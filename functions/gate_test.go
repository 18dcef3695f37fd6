package functions_test

import (
	"net"
	"sync/atomic"
	"testing"
)

// gate passes connections on. While it is closed bytes go in, from either side, and nothing comes out; while it is mute, nothing
// comes out to who connected.
type gate struct {
	net.Listener
	to        string
	closed    atomic.Bool
	mute      atomic.Bool
	swallowed atomic.Int64 // bytes
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, to: to}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
	return g
}

func (g *gate) pass(from net.Conn) {
	to, err := net.Dial("tcp", g.to)
	if err != nil {
		from.Close()
		return
	}
	go g.copy(from, to, &g.mute)
	g.copy(to, from, &g.closed)
}

// copy ends both sides when one has ended. It swallows while the gate is closed, or shut is set.
func (g *gate) copy(to, from net.Conn, shut *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if g.closed.Load() || shut.Load() {
			g.swallowed.Add(int64(n))
		} else if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
