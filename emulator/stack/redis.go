package stack

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embedded is an in-process Redis whose keys expire as time goes by: miniredis itself lets its TTLs stand still.
type embedded struct {
	server *miniredis.Miniredis
	stop   chan struct{}
	done   sync.WaitGroup
}

// expireEvery is how often the TTLs of the embedded Redis run down.
const expireEvery = time.Second

func startEmbedded() (*embedded, error) {
	e := &embedded{server: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	if err := e.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	e.done.Go(e.expire)
	return e, nil
}

func (e *embedded) url() string { return "redis://" + e.server.Addr() }

func (e *embedded) expire() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case now := <-tick.C:
			e.server.FastForward(now.Sub(last))
			last = now
		case <-e.stop:
			return
		}
	}
}

func (e *embedded) close() {
	close(e.stop)
	e.done.Wait()
	e.server.Close()
}
