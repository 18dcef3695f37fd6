package ingest_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

var afterLane = header{"Prefer", "after-lane"}

func TestAFinishedRequestDropsTheAnswersOfItsLane(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupReadsOn(t, rdb, newShop(t, nil))
		const read = "price?of=pear&l%61ne=lane-%61&x=1"
		w := b.read(read)
		wantRead(t, w, 200, "1", miss) // of a lane that was never used
		if got := w.Header().Values("Cache-Control"); len(got) != 1 || got[0] != "no-cache" {
			t.Errorf("Cache-Control %q: a cache behind us would not know when the lane moves", got)
		}
		wantRead(t, b.read(read), 200, "1", hit)
		b.submit("lane-a")
		wantRead(t, b.read(read), 200, "2", again)
		b.submit("lane-b")
		wantRead(t, b.read(read), 200, "2", hit)
		b.submit("lane-a", async) // it waits: nothing has changed
		wantRead(t, b.read(read), 200, "2", hit)
		if got := b.shop.calls()[0].URL.RequestURI(); got != "/price?of=pear&x=1" {
			t.Errorf("the origin was asked for %s", got)
		}
	})
}

func TestAfterLane(t *testing.T) {
	t.Parallel()
	t.Run("waits for all that was submitted before, and for no more", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
			var released atomic.Bool
			b := setupReadsOn(t, rdb, newShop(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				_, _ = io.WriteString(w, strconv.FormatBool(released.Load()))
			}))
			release := b.occupy("lane-a")
			looked := make(chan struct{})
			var once sync.Once
			b.slots.at(func(verb string, at point) error {
				if verb == "inspect" && at == after {
					once.Do(func() { close(looked) })
				}
				return nil
			})
			answer := make(chan *httptest.ResponseRecorder, 1)
			go func() { answer <- b.read("price?lane=lane-a", afterLane) }()
			<-looked
			wantAccepted(t, b.submit("lane-a")) // it came later, and nobody will ever run it
			released.Store(true)
			release()
			w := <-answer
			wantRead(t, w, 200, "true", miss)
			if got := w.Header().Get("Preference-Applied"); got != "after-lane" {
				t.Errorf("Preference-Applied %q", got)
			}
		})
	})
	t.Run("does not wait where nothing is to be waited for", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, nil)
		wantRead(t, b.read("price?lane=lane-a", afterLane), 200, "1", miss)
		b.submit("lane-a")
		wantRead(t, b.read("price?lane=lane-a", afterLane), 200, "2", again)
	})
	t.Run("waits no longer than asked", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, nil)
		b.occupy("lane-a")
		wantProblem(t, b.read("price?lane=lane-a", header{"Prefer", "after-lane, wait=0"}), 409, problem.NotFinished)
		wantRead(t, b.read("price?lane=lane-a"), 200, "1", miss)
	})
	t.Run("ends with the instance, and with the client", func(t *testing.T) {
		t.Parallel()
		b := setupReads(t, nil)
		b.occupy("lane-a")
		waiting := make(chan struct{}, 1000)
		b.slots.at(func(verb string, at point) error {
			if verb == "inspect" && at == after {
				waiting <- struct{}{}
			}
			return nil
		})
		gone, leave := context.WithCancel(context.Background())
		left, ended := make(chan int, 1), make(chan *httptest.ResponseRecorder, 1)
		go func() {
			r := httptest.NewRequest("GET", "/v1/fetch/shop/price?lane=lane-a", nil).WithContext(gone)
			r.Header.Set("Prefer", "after-lane")
			w := httptest.NewRecorder()
			b.handler.ServeHTTP(w, r)
			left <- w.Code
		}()
		<-waiting
		leave()
		<-left
		go func() { ended <- b.read("price?lane=lane-a", afterLane) }()
		<-waiting
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.drain.Close(done) // the occupant goes on
		wantProblem(t, <-ended, 503, problem.Unavailable)
		b.wantCalls(0)
	})
}

func TestReadsThatNameNoLaneOfOurs(t *testing.T) {
	t.Parallel()
	b := setupReads(t, nil)
	for query, want := range map[string]problem.Name{
		"lane=": problem.MalformedKey, "lane": problem.MalformedKey, "lane=%zz": problem.MalformedKey, "lane=..": problem.MalformedKey,
		"lane=lane-a&lane=lane-a": problem.MalformedKey, "lane=" + strings.Repeat("k", 257): problem.MalformedKey,
	} {
		wantProblem(t, b.read("price?"+query), 400, want)
	}
	wantProblem(t, b.read("price?lane=nobody"), 404, problem.NoLanePolicy)
	wantProblem(t, b.read("price", afterLane), 400, problem.MalformedHeader)
	for _, prefer := range []string{"after-lane, wait=soon", "after-lane, wait=-1", `"`} {
		wantProblem(t, b.read("price?lane=lane-a", header{"Prefer", prefer}), 400, problem.MalformedHeader)
	}
	b.wantCalls(0)
	wantRead(t, b.read("price?lane=lane-a%2Fb+c"), 200, "1", miss) // a key may hold slashes and spaces
}

// A writer works through a lane while readers of three instances read what it writes: whoever reads after a write has
// finished sees it, in whatever order the two fall.
func TestLaneConsistentReads(t *testing.T) {
	t.Parallel()
	const readers, each = 4, 250
	rdb := redistest.Start(t).Client()
	var number, finished atomic.Int64
	s := newShop(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		_, _ = io.WriteString(w, strconv.FormatInt(number.Load(), 10))
	})
	writer := setupReadsOn(t, rdb, s)
	fleet := []*reads{writer, setupReadsOn(t, rdb, s), setupReadsOn(t, rdb, s)}
	stop, hits := make(chan struct{}), atomic.Int64{}
	var writing, reading sync.WaitGroup
	writing.Go(func() {
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			writer.target.next(func(w http.ResponseWriter, _ *http.Request) { number.Store(n) })
			if w := writer.submit("lane-a"); w.Code != 200 {
				t.Errorf("write %d: %d %s", n, w.Code, w.Body)
				return
			}
			finished.Store(n)
			for range rand.IntN(2000) {
				runtime.Gosched()
			}
		}
	})
	for i := range readers {
		reading.Go(func() {
			for n := range each {
				floor := finished.Load()
				w := fleet[(i+n)%len(fleet)].read("number?lane=lane-a")
				got, err := strconv.ParseInt(w.Body.String(), 10, 64)
				if w.Code != 200 || err != nil || got < floor {
					t.Errorf("read %d %q (%s), want at least %d", w.Code, w.Body, w.Header().Get("Cache-Status"), floor)
					return
				}
				if strings.HasPrefix(w.Header().Get("Cache-Status"), "seriatim;hit") {
					hits.Add(1)
				}
			}
		})
	}
	reading.Wait()
	close(stop)
	writing.Wait()
	t.Logf("%d reads, %d writes, %d calls of the origin, %d hits", readers*each, finished.Load(), len(s.calls()), hits.Load())
}
