package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seriatim/seriatim/emulator/console"
)

// message is one message of the stream.
type message struct {
	id    string
	batch struct {
		Now    int64
		Reset  bool
		Events []console.Event
	}
}

// listen follows the stream of the emulator at base from after the event with id on, until the test ends. It answers what reads
// the next message, and ends the test when there is none.
func listen(t *testing.T, base, id string) func() message {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/console/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", id)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q, status %s", got, resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func() (m message) {
		t.Helper()
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				m.id = value
			case "data":
				if err := json.Unmarshal([]byte(value), &m.batch); err != nil {
					t.Fatal(err)
				}
			case "":
				return m
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return m
	}
}

func serve(t *testing.T) (*console.Journal, string) {
	t.Helper()
	j := &console.Journal{}
	server := httptest.NewServer(j.Handler())
	t.Cleanup(server.Close)
	return j, server.URL
}

func seqs(m message) (list []uint64) {
	for _, e := range m.batch.Events {
		list = append(list, e.Seq)
	}
	return list
}

func TestAStreamBeginsWithWhatIsKeptAndGoesOn(t *testing.T) {
	t.Parallel()
	j, base := serve(t)
	first := console.Event{At: 5, Kind: console.Reserved, Key: "a", Ticket: 1, ID: "r", Slot: 7}
	j.Add(first)
	next := listen(t, base, "")
	first.Seq = 1
	m := next()
	if diff := cmp.Diff([]console.Event{first}, m.batch.Events); diff != "" || !m.batch.Reset {
		t.Errorf("first message, reset %v (-want +got):\n%s", m.batch.Reset, diff)
	}
	j.Add(console.Event{Kind: console.Paused, Key: "a"})
	m = next()
	if got := m.batch.Events; len(got) != 1 || got[0].Seq != 2 || got[0].At == 0 || m.batch.Reset {
		t.Errorf("second message: %+v, want the event 2 with the present time, and no reset", m)
	}
	if got := j.Count(console.Paused); got != 1 {
		t.Errorf("%d paused, want 1", got)
	}
}

func TestAStreamGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	j, base := serve(t)
	for range 3 {
		j.Add(console.Event{Kind: console.Done, Key: "a"})
	}
	last := listen(t, base, "")().id
	j.Add(console.Event{Kind: console.Done, Key: "a"})
	if m := listen(t, base, last)(); m.batch.Reset || !cmp.Equal(seqs(m), []uint64{4}) {
		t.Errorf("after %s: %+v, want event 4 only", last, m)
	}
	for _, foreign := range []string{"1-2", "nonsense", "-"} {
		if m := listen(t, base, foreign)(); !m.batch.Reset || len(m.batch.Events) != 4 {
			t.Errorf("after an id of another process, %q: %+v, want everything anew", foreign, m)
		}
	}
}

func TestAStreamSaysWhatIsNoLongerKept(t *testing.T) {
	t.Parallel()
	j, base := serve(t)
	j.Add(console.Event{Kind: console.Done, Key: "a"})
	last := listen(t, base, "")().id
	const kept, beyond = 1 << 16, 10
	for range kept + beyond {
		j.Add(console.Event{Kind: console.Done, Key: "a"})
	}
	next := listen(t, base, last)
	m := next()
	if want := uint64(1 + beyond + 1); !m.batch.Reset || m.batch.Events[0].Seq != want {
		t.Fatalf("reset %v from event %d, want a reset and event %d", m.batch.Reset, m.batch.Events[0].Seq, want)
	}
	count := len(m.batch.Events)
	for count < kept {
		m = next()
		if m.batch.Reset {
			t.Fatalf("reset again after %d events", count)
		}
		count += len(m.batch.Events)
	}
	if count != kept || j.Count(console.Done) != kept+beyond+1 {
		t.Errorf("%d events streamed, %d counted", count, j.Count(console.Done))
	}
}

// A hundred writers, four readers: every reader gets every event once, in order.
func TestEveryReaderGetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	j, base := serve(t)
	const writers, each = 100, 50
	var readers, all sync.WaitGroup
	for range 4 {
		next := listen(t, base, "")
		readers.Go(func() {
			for want := uint64(1); want <= writers*each; {
				for _, seq := range seqs(next()) {
					if seq != want {
						t.Errorf("event %d, want %d", seq, want)
						return
					}
					want++
				}
			}
		})
	}
	for range writers {
		all.Go(func() {
			for range each {
				j.Add(console.Event{Kind: console.Done, Key: "a"})
			}
		})
	}
	all.Wait()
	readers.Wait()
}

func TestThePageLoadsNothingButItsOwnFiles(t *testing.T) {
	t.Parallel()
	_, base := serve(t)
	for _, path := range []string{"/console/", "/console/main.js", "/console/style.css", "/console/icon.svg"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		h := resp.Header
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'self'; ") ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %v", path, resp.Status, h)
		}
	}
}
