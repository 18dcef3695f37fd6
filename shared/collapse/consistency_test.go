package collapse

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// Whatever was invalidated or finished before a read began is in what it
// reads. A writer and readers of four instances race; the origin holds a
// number that the writer raises.
func TestConsistency(t *testing.T) {
	t.Parallel()
	const instances, readers, reads = 4, 8, 250
	for name, stamped := range map[string]bool{"invalidation": false, "stamp": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t).Client()
			var number, finished atomic.Int64
			o := &origin{t: t, hook: func(context.Context, int64, *Stored) (Answer, error) {
				return Answer{Value: fmt.Append(nil, number.Load())}, nil
			}}
			fleet := make([]*bundle, instances)
			for i := range fleet {
				fleet[i] = beside(t, rdb, o)
			}

			var reading, writing sync.WaitGroup
			read := make(chan struct{}, 1) // one write for every few reads
			writing.Go(func() {
				for n := int64(1); ; n++ {
					if _, more := <-read; !more {
						return
					}
					number.Store(n)
					if !stamped {
						writer := fleet[n%instances]
						if err := writer.Invalidate(t.Context(), writer.key); err != nil {
							t.Errorf("Invalidate: %v", err)
							return
						}
					}
					finished.Store(n)
				}
			})
			for r := range readers {
				reading.Go(func() {
					for range reads {
						floor := finished.Load()
						got, err := fleet[r%instances].do(t, func(p *Policy) {
							if stamped {
								p.Stamp = fmt.Sprint(floor)
							}
						})
						var value int64
						if _, scan := fmt.Sscan(string(got.Value), &value); err != nil || scan != nil || value < floor {
							t.Errorf("read %q (%s, detail %q), %v; want at least %d", got.Value, got.Outcome, got.Detail, err, floor)
							return
						}
						poke(read)
					}
				})
			}
			reading.Wait()
			close(read)
			writing.Wait()
		})
	}
}

// holding keeps back the reply of one script, which Redis has executed.
type holding struct {
	twice          // for the hooks that do nothing
	command  int64 // which one, counted from 1
	sent     atomic.Int64
	executed chan struct{}
	release  chan struct{}
}

func (h *holding) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil && h.sent.Add(1) == h.command {
			close(h.executed)
			<-h.release
		}
		return err
	}
}

// While the reply to one instance is under way, another invalidates; who comes
// after that must not get what the reply brings.
func TestConsistency_replyUnderWay(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]int64{"look-up": 3, "fill": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				h := &holding{command: command, executed: make(chan struct{}), release: make(chan struct{})}
				a := setup(t, redial(t, rdb, func(c net.Conn) net.Conn { return c }, h))
				b := beside(t, rdb, a.origin)
				if name == "look-up" {
					a.must(t) // join, settle; the next is the look-up of a hit
				}
				before := a.many(t, 1)
				<-h.executed
				if err := b.Invalidate(t.Context(), b.key); err != nil {
					t.Fatal(err)
				}
				after := a.many(t, 10)
				a.waiting(t, 10)
				close(h.release)
				if r := before()[0]; r.err != nil || string(r.Value) != "answer 1" {
					t.Errorf("before: %+v", r)
				}
				for _, r := range after() {
					if r.err != nil || string(r.Value) != "answer 2" {
						t.Errorf("after: %+v", r)
					}
				}
			})
		})
	}
}
