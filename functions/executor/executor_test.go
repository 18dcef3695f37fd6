package executor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func each(t *testing.T, lanePolicy string, test func(t *testing.T, b *fixture)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) { test(t, setup(t, rdb, lanePolicy)) })
}

func TestADeliveryRunsItsRequestAndTheRest(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		first, second := b.submit("a"), b.submit("b")
		body, mac, err := b.keys.Seal(first)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.post(body, mac); got != http.StatusOK {
			t.Fatalf("status %d, want 200", got)
		}
		call := <-b.calls
		want := target.Request{Key: testKey, ID: "a", Ticket: first.Ticket, Fence: call.Fence, Attempt: 1, Body: []byte("body of a")}
		if diff := cmp.Diff(want, call); diff != "" {
			t.Errorf("the target's request (-want +got):\n%s", diff)
		}
		if b.status("a") != slot.Done {
			t.Errorf("a is %s, want done", b.status("a"))
		}
		// The second request's task was due at once, so it was left to it: whichever way, its delivery ends it.
		if got := b.Deliver(t.Context(), second); got != http.StatusOK || b.status("b") != slot.Done {
			t.Errorf("second delivery: %d, b is %s", got, b.status("b"))
		}
		// A late duplicate of either runs nothing.
		for _, e := range []taskqueue.Envelope{first, second} {
			if got := b.Deliver(t.Context(), e); got != http.StatusOK {
				t.Errorf("duplicate of %s: %d, want 200", e.ID, got)
			}
		}
		if extra := len(b.calls) - 1; extra != 0 {
			t.Errorf("%d runs too many", extra)
		}
	})
}

func TestTheFinisherGoesOn(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 5ms", func(t *testing.T, b *fixture) {
		// A hundred wait, with backstops seconds apart, since the lane has shown no interval yet. One delivery drives them all.
		var all []taskqueue.Envelope
		for i := range 100 {
			all = append(all, b.submit(string(rune('a'+i/26))+string(rune('a'+i%26))))
		}
		if got := b.Deliver(t.Context(), all[0]); got != http.StatusOK {
			t.Fatalf("status %d, want 200", got)
		}
		last := int64(0)
		for range len(b.calls) {
			if call := <-b.calls; call.Ticket <= last {
				t.Errorf("ticket %d ran after %d", call.Ticket, last)
			} else {
				last = call.Ticket
			}
		}
		// Those whose own task was due at once were left to it; it may have been one or two at the head.
		for _, e := range all {
			if b.status(e.ID) != slot.Done {
				if got := b.Deliver(t.Context(), e); got != http.StatusOK {
					t.Fatalf("delivery of %s: %d", e.ID, got)
				}
			}
		}
		if b.events(Drove) < 90 {
			t.Errorf("%d drives, want most of 99", b.events(Drove))
		}
		if b.status(all[99].ID) != slot.Done {
			t.Errorf("the last is %s, want done", b.status(all[99].ID))
		}
	})
}

func TestUnusableDeliveries(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		good := b.submit("a")
		body, mac, err := b.keys.Seal(good)
		if err != nil {
			t.Fatal(err)
		}
		other, err := taskqueue.ParseKeys("another-key-another-key-another-key")
		if err != nil {
			t.Fatal(err)
		}
		seal := func(text string) (string, string) {
			_, foreign, _ := other.Seal(good)
			return text, foreign
		}
		wrongBody, wrongMAC := seal(string(body))
		for name, test := range map[string]struct {
			body, mac string
			want      int
		}{
			"no MAC":          {string(body), "", http.StatusConflict},
			"another key":     {wrongBody, wrongMAC, http.StatusConflict},
			"a changed body":  {strings.Replace(string(body), "work", "evil", 1), mac, http.StatusConflict},
			"nothing at all":  {"", "", http.StatusConflict},
			"a body too long": {strings.Repeat("x", maxBody+1), mac, http.StatusConflict},
		} {
			if got := b.post([]byte(test.body), test.mac); got != test.want {
				t.Errorf("%s: %d, want %d", name, got, test.want)
			}
		}
		for name, test := range map[string]struct {
			err  error
			want int
		}{
			"undecodable under a right MAC": {taskqueue.ErrMalformed, http.StatusOK},
			"newer than the code":           {taskqueue.ErrVersion, http.StatusConflict},
		} {
			e := New(b.Config)
			e.Opener = refusing{test.err}
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/executor", strings.NewReader("x")))
			if w.Code != test.want {
				t.Errorf("%s: %d, want %d", name, w.Code, test.want)
			}
		}
		if len(b.calls) != 0 {
			t.Errorf("%d runs, want none", len(b.calls))
		}
		// A key without policy, and a kind of newer code: their tasks stay.
		for name, e := range map[string]taskqueue.Envelope{
			"no policy":   {Kind: taskqueue.KindRequest, Key: "unknown", ID: "a"},
			"a lone kick": {Kind: taskqueue.KindKick, Key: "unknown", Seq: 1},
		} {
			if got := b.Deliver(t.Context(), e); got != http.StatusConflict {
				t.Errorf("%s: %d, want 409", name, got)
			}
		}
	})
}

type refusing struct{ err error }

func (r refusing) Open([]byte, string) (taskqueue.Envelope, error) {
	return taskqueue.Envelope{}, r.err
}

func TestATargetThatFails(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s, attempts: 2, backoff: {min: 50ms, max: 50ms}", func(t *testing.T, b *fixture) {
		b.behave = func(context.Context, target.Request) (target.Response, error) { panic("a Go target that panics") }
		e := b.submit("a")
		// The successor is durable before the 200.
		if got := b.Deliver(t.Context(), e); got != http.StatusOK {
			t.Fatalf("status %d, want 200", got)
		}
		e.K = 1
		if _, err := b.queue.Get(t.Context(), taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, 1)); err != nil {
			t.Fatalf("no successor: %v", err)
		}
		// The second attempt is the last.
		if got := b.Deliver(t.Context(), e); got != http.StatusOK || b.status("a") != slot.Dead {
			t.Errorf("second: %d, a is %s, want 200 and dead", got, b.status("a"))
		}
		if len(b.calls) != 2 {
			t.Errorf("%d runs, want 2", len(b.calls))
		}
	})
}

func TestNo200WithoutASuccessor(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 1h", func(t *testing.T, b *fixture) {
		first, second := b.submit("a"), b.submit("b")
		if got := b.Deliver(t.Context(), first); got != http.StatusOK {
			t.Fatalf("first: %d", got)
		}
		// The second is an hour early: it must snooze, and the queue is down.
		b.queue.createErr = errors.New("queue is down")
		if got := b.Deliver(t.Context(), second); got != http.StatusConflict {
			t.Errorf("snooze without successor: %d, want 409", got)
		}
		b.queue.createErr = nil
		if got := b.Deliver(t.Context(), second); got != http.StatusOK || b.events(Snoozed) != 2 {
			t.Errorf("snooze: %d after %d snoozes, want 200 after 2", got, b.events(Snoozed))
		}
		if got := len(b.calls); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
	})
}

func TestADuplicateOfWhatRunsIsNeverAnswered200Bare(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		e := b.submit("a")
		running, release := make(chan struct{}), make(chan struct{})
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			close(running)
			<-release
			return target.Response{}, nil
		}
		first := make(chan int, 1)
		go func() { first <- b.Deliver(t.Context(), e) }()
		<-running
		// An instance that shuts down does not wait: the duplicate gets a successor of its own before the 200.
		hasty := New(b.Config)
		drain := drained(t)
		hasty.Drain = drain
		if got := hasty.Deliver(t.Context(), e); got != http.StatusOK {
			t.Errorf("duplicate: %d, want 200", got)
		}
		if _, err := b.queue.Get(t.Context(), taskqueue.RequestTaskID(e.Key, e.Incarnation, e.Ticket, e.ID, 1)); err != nil {
			t.Errorf("duplicate answered 200 without a successor: %v", err)
		}
		close(release)
		if got := <-first; got != http.StatusOK || len(b.calls) != 1 {
			t.Errorf("first: %d after %d runs", got, len(b.calls))
		}
	})
}

func TestAnUnknownTicketIsAdopted(t *testing.T) {
	t.Parallel()
	each(t, "spacing: 0s", func(t *testing.T, b *fixture) {
		e := b.submit("a")
		if _, err := b.slots.Void(t.Context(), b.lane.Slot, "a", e.Ticket, true); err != nil {
			t.Fatal(err)
		}
		b.queue.createErr = errors.New("queue is down")
		if got := b.Deliver(t.Context(), e); got != http.StatusConflict {
			t.Errorf("adoption without a task: %d, want 409", got)
		}
		b.queue.createErr = nil
		if got := b.Deliver(t.Context(), e); got != http.StatusOK {
			t.Errorf("adoption: %d, want 200", got)
		}
		tasks := b.queue.of(taskqueue.KindRequest)
		adopted := tasks[len(tasks)-1].Envelope
		if adopted.Ticket <= e.Ticket {
			t.Fatalf("adopted under ticket %d, want one above %d", adopted.Ticket, e.Ticket)
		}
		if got := b.Deliver(t.Context(), adopted); got != http.StatusOK || b.status("a") != slot.Done || len(b.calls) != 1 {
			t.Errorf("adopted: %d, %s, %d runs", got, b.status("a"), len(b.calls))
		}
		// What durable records know runs no more, whatever Redis says.
		stranger := e
		stranger.ID, stranger.Ticket = "z", e.Ticket+1000
		b.ended("z", stranger.Ticket)
		if got := b.Deliver(t.Context(), stranger); got != http.StatusOK || len(b.calls) != 1 {
			t.Errorf("durable record: %d, %d runs", got, len(b.calls))
		}
		stranger.Ticket++ // it got another place, and its first one came to an end after all
		if got := b.Deliver(t.Context(), stranger); got != http.StatusOK || len(b.calls) != 1 {
			t.Errorf("durable record of a place before: %d, %d runs", got, len(b.calls))
		}
		// But not another end of a lower ticket: the request has been asked for again since.
		if err := b.records.Delete(t.Context(), testKey, "z", stranger.Ticket); err != nil {
			t.Fatal(err)
		}
		if _, err := b.records.Put(t.Context(), record.Record{
			Key: testKey, ID: "z", Ticket: stranger.Ticket - 1, Status: record.Dead, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
		}); err != nil {
			t.Fatal(err)
		}
		before := len(b.queue.of(taskqueue.KindRequest))
		if got := b.Deliver(t.Context(), stranger); got != http.StatusOK || len(b.queue.of(taskqueue.KindRequest)) != before+1 {
			t.Errorf("older record: %d, %d tasks, want one more than %d", got, len(b.queue.of(taskqueue.KindRequest)), before)
		}
	})
}

func TestRedisOutOfReachIs503(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := setup(t, server.Client(), "spacing: 0s")
	e := b.submit("a")
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if got := b.Deliver(ctx, e); got != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", got)
	}
}
