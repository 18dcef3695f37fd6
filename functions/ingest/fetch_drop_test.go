package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestDeleteInvalidates(t *testing.T) {
	t.Parallel()
	drop := func(b *reads, path string) {
		w := b.call("DELETE", "/v1/fetch/shop/"+path, "")
		if w.Code != 204 || w.Body.Len() > 0 {
			b.t.Fatalf("DELETE: %d %s", w.Code, w.Body)
		}
	}
	t.Run("what is stored, and nothing else", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			b := setupReadsOn(t, rdb, newShop(t, nil))
			drop(b, "price?of=pear") // nothing is there yet
			wantRead(t, b.read("price?of=pear"), 200, "1", miss)
			wantRead(t, b.read("price?of=apple"), 200, "2", miss)
			drop(b, "price?of=pear")
			wantRead(t, b.read("price?of=pear"), 200, "3", miss)
			wantRead(t, b.read("price?of=apple"), 200, "2", hit)
			wantRead(t, b.read("price?of=apple&lane=lane-a"), 200, "4", again) // another stamp
			drop(b, "price?of=apple")                                          // under any lane
			wantRead(t, b.read("price?of=apple&lane=lane-a"), 200, "5", miss)
		})
	})
	t.Run("in all variants, by header and by credential", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			b := setupReadsOn(t, rdb, newShop(t, nil), func(o *policy.Origin) { o.Vary = []string{"Accept-Language"} })
			german, mine := header{"Accept-Language", "de"}, []header{{"Authorization", "Bearer me"}, {"X-Serverless-Authorization", "Bearer x"}}
			wantRead(t, b.read("price"), 200, "1", miss)
			wantRead(t, b.read("price", german), 200, "2", miss)
			wantRead(t, b.read("price", mine...), 200, "3", miss)
			wantRead(t, b.read("price", german), 200, "2", hit)
			if w := b.call("DELETE", "/v1/fetch/shop/price", "", header{"Accept-Language", "fr"}); w.Code != 204 {
				t.Fatalf("DELETE: %d %s", w.Code, w.Body)
			}
			wantRead(t, b.read("price", german), 200, "4", miss)
			wantRead(t, b.read("price", mine...), 200, "5", miss)
			wantRead(t, b.read("price"), 200, "6", miss)
		})
	})
	t.Run("a fill under way, on every instance", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			asked, hold := make(chan struct{}), make(chan struct{})
			s := newShop(t, func(w http.ResponseWriter, _ *http.Request, call int) {
				if call == 1 {
					close(asked)
					<-hold
				}
				_, _ = w.Write([]byte(strconv.Itoa(call)))
			})
			b, other := setupReadsOn(t, rdb, s), setupReadsOn(t, rdb, s)
			old := make(chan *httptest.ResponseRecorder, 1)
			go func() { old <- b.read("price") }()
			<-asked
			drop(other, "price")
			wantRead(t, other.read("price"), 200, "2", miss)
			close(hold)
			if w := <-old; w.Body.String() != "1" { // who came before may have it
				t.Errorf("the first reader got %q", w.Body)
			}
			wantRead(t, b.read("price"), 200, "2", hit)
			wantRead(t, other.read("price"), 200, "2", hit)
		})
	})
}

func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	m := redistest.Miniredis(t)
	b := setupReadsOn(t, redistest.Client(t, m), newShop(t, nil))
	m.Close()
	wantRead(t, b.read("price"), 200, "1", "fwd=miss;detail=redis")
	wantRead(t, b.read("price"), 200, "2", "fwd=miss;detail=redis")
	wantProblem(t, b.call("DELETE", "/v1/fetch/shop/price", ""), 503, problem.Unavailable)
	wantProblem(t, b.read("price?lane=lane-a"), 503, problem.Unavailable) // nobody knows how the lane stands
}

func TestABudgetThatIsSpent(t *testing.T) {
	t.Parallel()
	b := setupReads(t, nil, func(o *policy.Origin) { o.MaxBytes = 2 << 10 })
	wantRead(t, b.read("1"), 200, "1", miss)
	wantRead(t, b.read("2"), 200, "2", "fwd=miss;detail=full")
	wantRead(t, b.read("1"), 200, "1", hit)
}

// Reads cannot push lanes out of memory: they have a budget, and touch no key of a lane.
func TestManyReadsLeaveLanesAlone(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	b := setupReadsOn(t, rdb, newShop(t, nil), func(o *policy.Origin) { o.MaxBytes = 256 << 10 })
	wantAccepted(t, b.submit("lane-a", async))
	ctx := context.Background()
	dump := func() map[string]string {
		all := map[string]string{}
		for _, key := range rdb.Keys(ctx, "*").Val() {
			all[key] = rdb.Dump(ctx, key).Val()
		}
		return all
	}
	lanes := dump()
	var readers sync.WaitGroup
	for from := range 8 {
		readers.Go(func() {
			for i := from; i < 5000; i += 8 {
				if w := b.read(fmt.Sprintf("price?of=%d&lane=lane-a", i)); w.Code != 200 {
					t.Errorf("read %d: %d %s", i, w.Code, w.Body)
				}
			}
		})
	}
	readers.Wait()
	after := dump()
	var reads int64 // bytes
	for key := range after {
		if _, lane := lanes[key]; !lane {
			delete(after, key)
			reads += rdb.MemoryUsage(ctx, key, 0).Val()
		}
	}
	if diff := cmp.Diff(lanes, after); diff != "" {
		t.Errorf("keys of lanes (-before +after):\n%s", diff)
	}
	if most := int64(256 << 10 * 4 / 3); reads == 0 || reads > most { // a third is the allocator's
		t.Errorf("reads take %d bytes, want at most %d", reads, most)
	}
	if ttl := rdb.PTTL(ctx, rdb.RandomKey(ctx).Val()).Val(); ttl <= 0 || ttl > 40*24*time.Hour {
		t.Errorf("a key lives %v", ttl)
	}
}
