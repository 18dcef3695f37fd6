package collapse

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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
				fleet[i] = join2(t, rdb, o)
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
